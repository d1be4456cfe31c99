import { API_VERSION, GATEWAY_SYNC } from '../../../shared/api/group.ts';
import { Slots } from '../../../shared/domain/limits/slots.ts';
import type { KubernetesClient } from '../../../shared/io/kubernetes/client.ts';
import { corePath, gatewaySyncPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { clientOf } from '../../testbed/client-of.ts';
import { type ControlPlane, startControlPlane } from '../../testbed/control-plane.ts';
import { type GitServer, startGitServer } from '../../testbed/git-server.ts';
import { installCrds } from '../../testbed/install-crds.ts';
import { step } from '../../testbed/step.ts';

/** The namespace of a benchmark's objects. */
export const NAMESPACE = 'bench';
/** Secret that signs deliveries. */
export const SECRET = 'a-secret-of-the-benchmark';

/** A real control plane with the CRDs, and a real git server. */
export interface World {
  cluster: ControlPlane;
  client: KubernetesClient;
  server: GitServer;
  /** Aborted when the benchmark ends. */
  ending: AbortController;
}

/** Starts both, runs a benchmark, and stops both. */
export async function inWorld(work: (world: World) => Promise<void>): Promise<void> {
  const cluster = await step('Starting a control plane', () => startControlPlane());
  const server = await startGitServer({ address: '0.0.0.0' });
  const client = clientOf(cluster.kubeconfig, { userAgent: 'bench', maxSockets: 64 });
  const ending = new AbortController();
  try {
    await installCrds(cluster);
    await client.create(corePath('namespaces'), { metadata: { name: NAMESPACE } });
    await work({ cluster, client, server, ending });
  } finally {
    ending.abort();
    await Promise.all([server.stop(), cluster.stop()]);
  }
}

/** The `spec.sync` of all resources and releases. */
export const sync = { profiles: { default: { mappings: [{ source: 'files', destination: 'files' }] } } };

/** Creates a GatewaySync without polls that maps the directory `files`; `spec` replaces parts of its spec. */
export async function createResource({ client }: World, name: string, repo: string, spec: object = {}): Promise<void> {
  await client.create(gatewaySyncPath(NAMESPACE), {
    apiVersion: API_VERSION,
    kind: GATEWAY_SYNC.kind,
    metadata: { name },
    spec: {
      git: { repo, ref: 'main' },
      polling: { enabled: false },
      sync,
      ...spec,
    },
  });
}

/** Does several pieces of work in parallel, a limited number at a time. */
export async function inParallel(count: number, work: (index: number) => Promise<unknown>): Promise<void> {
  const slots = new Slots(32);
  await Promise.all(Array.from({ length: count }, (_, index) => slots.run(() => work(index))));
}
