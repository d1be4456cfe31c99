import { API_VERSION, GATEWAY_SYNC } from '../../../shared/api/group.ts';
import type { KubernetesClient } from '../../../shared/io/kubernetes/client.ts';
import { corePath, gatewaySyncPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { clientOf } from '../../testbed/client-of.ts';
import { type ControlPlane, startControlPlane } from '../../testbed/control-plane.ts';
import { type GitServer, startGitServer } from '../../testbed/git-server.ts';
import { installCrds } from '../../testbed/install-crds.ts';
import { type RunningProgram, startProgram } from '../../testbed/programs.ts';
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

/** A GatewaySync without polls that maps the directory `files`; `spec` replaces parts of its spec. */
export interface NewResource {
  name: string;
  repo: string;
  spec?: object;
}

/** Creates a GatewaySync. */
export async function createResource({ client }: World, { name, repo, spec }: NewResource): Promise<void> {
  await client.create(gatewaySyncPath(NAMESPACE), {
    apiVersion: API_VERSION,
    kind: GATEWAY_SYNC.kind,
    metadata: { name },
    spec: {
      git: { repo, ref: 'main' },
      polling: { enabled: false },
      sync: { profiles: { default: { mappings: [{ source: 'files', destination: 'files' }] } } },
      ...spec,
    },
  });
}

/** Sets annotations of a GatewaySync. */
export async function annotate({ client }: World, name: string, annotations: Record<string, string>): Promise<void> {
  await client.mergePatch(gatewaySyncPath(NAMESPACE, name), { metadata: { annotations } });
}

/** Starts the controller as its image does; admission and leader election are off unless `environment` has them. */
export const startController = (
  { cluster }: World,
  environment: Record<string, string> = {},
): Promise<RunningProgram> =>
  startProgram('controller', {
    logs: cluster.dir,
    environment: {
      KUBECONFIG: cluster.kubeconfig,
      POD_NAMESPACE: NAMESPACE,
      LEADER_ELECTION: 'false',
      WEBHOOK_PORT: '0',
      METRICS_SECURE: 'false',
      LOG_LEVEL: 'warn',
      ...environment,
    },
  });

/** Returns small files in 97 directories, by path. */
export const manyFiles = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`files/${n % 97}/${n}.json`, `{"n": ${n}}\n`]));
