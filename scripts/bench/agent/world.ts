import { randomUUID } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import { API_VERSION, GATEWAY_SYNC } from '../../../shared/api/group.ts';
import { AGENT_CONTAINER, AGENT_LABEL, POD_ANNOTATIONS, REQUEST_ANNOTATIONS } from '../../../shared/api/names.ts';
import type { KubernetesClient } from '../../../shared/io/kubernetes/client.ts';
import { corePath, gatewaySyncPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { type RunningProgram, startProgram } from '../../demo/programs.ts';
import { clientOf } from '../../testbed/client-of.ts';
import { type ControlPlane, startControlPlane } from '../../testbed/control-plane.ts';
import { freePort } from '../../testbed/free-port.ts';
import { type GitServer, startGitServer } from '../../testbed/git-server.ts';
import { installCrds } from '../../testbed/install-crds.ts';
import { step } from '../../testbed/step.ts';
import { makeTemporaryFolder, type TemporaryFolder } from '../../testbed/temporary-folder.ts';

export const NAMESPACE = 'bench';
const noGateways = {
  ...{ total: 0, synced: 0, pending: 0, error: 0, missingSidecar: 0, paused: 0, dryRun: 0, skewed: 0 },
  summary: '',
};

/** A control plane and a git server, between which the benchmark plays the controller. */
export interface World {
  cluster: ControlPlane;
  client: KubernetesClient;
  server: GitServer;
  folder: TemporaryFolder;
}

/** An agent with its own folders. */
export interface BenchAgent {
  program: RunningProgram;
  data: string;
}

/** Starts what the agents need. */
export async function startWorld(): Promise<World> {
  const cluster = await step('Starting a control plane', () => startControlPlane());
  await installCrds(cluster);
  await cluster.kubectl('create', 'namespace', NAMESPACE);
  const client = clientOf(cluster.kubeconfig, { userAgent: 'bench', maxSockets: 16 });
  return { cluster, client, server: await startGitServer(), folder: await makeTemporaryFolder('bench-agent-') };
}

/** Ends it all. */
export async function stopWorld({ server, cluster, folder }: World): Promise<void> {
  await Promise.all([server.stop(), cluster.stop()]);
  await folder.remove();
}

/** Creates a GatewaySync that maps the folder `files`; `more` is added to its spec. */
export async function createResource({ client }: World, name: string, repo: string, more: object = {}): Promise<void> {
  await client.create(gatewaySyncPath(NAMESPACE), {
    apiVersion: API_VERSION,
    kind: GATEWAY_SYNC.kind,
    metadata: { name, namespace: NAMESPACE },
    spec: {
      git: { repo, ref: 'main' },
      polling: { enabled: false },
      sync: { profiles: { default: { mappings: [{ source: 'files', destination: 'files' }] } } },
      ...more,
    },
  });
}

/** Starts a real controller, without admission, metrics and leader election. */
export const startController = ({ cluster, folder }: World): Promise<RunningProgram> =>
  startProgram(
    'controller',
    {
      ...{ KUBECONFIG: cluster.kubeconfig, POD_NAMESPACE: NAMESPACE, WEBHOOK_PORT: '0', METRICS_PORT: '0' },
      ...{ LEADER_ELECTION: 'false', DEFAULT_AGENT_IMAGE: 'agent:bench', GIT_ALLOW_LOCAL: 'true', LOG_LEVEL: 'warn' },
    },
    folder.path,
  );

/** Sets annotations of a resource. */
export async function annotate({ client }: World, name: string, annotations: Record<string, string>): Promise<void> {
  await client.mergePatch(gatewaySyncPath(NAMESPACE, name), { metadata: { annotations } });
}

/** Asks for another look at the branch, as a delivery does. */
export const push = (world: World, name: string): Promise<void> =>
  annotate(world, name, {
    [REQUEST_ANNOTATIONS.pushedRef]: 'refs/heads/main',
    [REQUEST_ANNOTATIONS.pushedAt]: new Date().toISOString(),
  });

/** Plays the controller: the ref leads to this commit, and so many gateways follow. Gives when that was sent, by `performance.now()`. */
export async function settle({ client }: World, name: string, commit: string, gateways = 1): Promise<number> {
  const url = gatewaySyncPath(NAMESPACE, name);
  const { generation = 1 } = (await client.get<GatewaySync>(url)).metadata;
  const lastTransitionTime = new Date().toISOString();
  const condition = { type: 'RefResolved', status: 'True', reason: 'Resolved', message: '', lastTransitionTime };
  const status = {
    ...{ observedGeneration: generation, lastSyncRef: 'main', lastSyncCommit: commit },
    ...{ conditions: [condition], gateways: { ...noGateways, total: gateways } },
  };
  const sent = performance.now();
  await client.mergePatch(`${url}/status`, { status });
  return sent;
}

/** Starts an agent with the flags of its image, for a pod that is created for it; `volume` is the data of an earlier one. */
export async function startAgent(world: World, crName: string, podName: string, volume?: string): Promise<BenchAgent> {
  const containers = ['gateway', AGENT_CONTAINER].map((name) => ({ name, image: `${name}:1` }));
  const pod = {
    metadata: { name: podName, labels: { [AGENT_LABEL]: 'true' }, annotations: { [POD_ANNOTATIONS.crName]: crName } },
    spec: { schedulingGates: [{ name: 'sync.io/bench' }], containers },
  };
  const { metadata } = await world.client.create<{ metadata: { uid: string } }>(corePath('pods', NAMESPACE), pod);
  const own = path.join(world.folder.path, randomUUID());
  const data = volume ?? path.join(own, 'data');
  await mkdir(own, { recursive: true });
  await mkdir(data, { recursive: true });
  const labels = path.join(own, 'labels');
  await writeFile(labels, `${AGENT_LABEL}="true"\n`);
  const environment = {
    ...{ KUBECONFIG: world.cluster.kubeconfig, POD_NAME: podName, POD_NAMESPACE: NAMESPACE, POD_UID: metadata.uid },
    ...{
      CR_NAME: crName,
      DATA_PATH: data,
      POD_LABELS_FILE: labels,
      REPO_PATH: path.join(own, 'repo'),
      GIT_ALLOW_LOCAL: 'true',
      LOG_LEVEL: 'warn',
    },
    METRICS_PORT: String(await freePort()),
  };
  return { program: await startProgram('agent', environment, own), data };
}
