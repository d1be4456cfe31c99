import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { agentClusterRole } from '../../../../scripts/testbed/agent-role.ts';
import { clientOf } from '../../../../scripts/testbed/client-of.ts';
import { freePort } from '../../../../scripts/testbed/free-port.ts';
import type { GatewaySync } from '../../../../shared/api/gateway-sync.ts';
import type { SyncReport, SyncReportStatus } from '../../../../shared/api/sync-report.ts';
import type { KubernetesClient } from '../../../../shared/io/kubernetes/client.ts';
import {
  corePath,
  gatewaySyncPath,
  groupPath,
  syncReportPath,
} from '../../../../shared/io/kubernetes/resource-path.ts';
import { apply, connectCluster, createNamespace } from '../../../support/cluster.ts';
import { gatewaySync } from '../../../support/gateway-syncs.ts';
import { type Program, type ProgramOptions, startProgram } from '../../../support/program.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { until } from '../../../support/until.ts';

const BUNDLE = 'dist/agent.mjs';
const NAME = 'gw';
const POD = 'gateway-0';

/** A gateway pod as the API server has it, with directories instead of volumes, and the controller's work for it. */
export interface GatewayPod {
  namespace: string;
  /** UID of the pod. */
  uid: string;
  /** Root of the data volume. */
  data: string;
  /** Directory of the clone. */
  repo: string;
  client: KubernetesClient;
  /** Writes the spec; the status is then not settled. */
  setSpec(repo: string, spec?: object): Promise<void>;
  /** Acts as the controller: resolves the ref to the commit. */
  settle(commit: string, ref?: string): Promise<void>;
  /** Grants the agent's rights, as the controller does, or other ones. */
  bind(rules?: object[]): Promise<void>;
  /** Starts the agent with only its permissions. */
  start(env?: Record<string, string>, how?: StartOptions): Promise<RunningAgent>;
  /** The agent's report. */
  report(): Promise<SyncReport>;
  /** Waits for a report that is as wanted. */
  untilReport(describe: string, accept: (report: SyncReport) => boolean): Promise<SyncReport>;
  /** Waits for such a status of the report. */
  untilStatus(describe: string, accept: (status: SyncReportStatus) => boolean): Promise<SyncReportStatus>;
  /** Waits until the report shows the delivered commit. */
  untilSynced(commit: string): Promise<SyncReport>;
  /** All files of the data volume but the agent's own, by path. */
  files(): Promise<Record<string, string>>;
}

interface RunningAgent extends Program {
  healthUrl: string;
  metricsUrl: string;
}

/** Creates a pod with its service account in a new namespace. Its agent has no permissions until they are bound. */
export async function createGatewayPod(t: TestContext, { bound = true, onDisk = false } = {}): Promise<GatewayPod> {
  const cluster = await connectCluster();
  const namespace = await createNamespace(t);
  const client = clientOf(cluster.kubeconfig, { userAgent: 'agent-tests' });
  t.after(() => client.close());
  const uid = await createPod(client, namespace);
  const directory = await temporaryDirectory(t, 'gateway-pod-', { onDisk });
  const data = path.join(directory, 'data');
  const repo = path.join(directory, 'repo');
  await mkdir(data);
  const resource = gatewaySyncPath(namespace, NAME);
  const pod: GatewayPod = {
    namespace,
    uid,
    data,
    repo,
    client,
    setSpec: async (url, spec = {}) => {
      await apply(gatewaySync({ namespace, name: NAME }, { repo: url }, spec), '--force-conflicts');
    },
    settle: async (commit, ref = 'main') => {
      const { metadata } = await client.getAs<GatewaySync>(resource);
      await client.mergePatch(`${resource}/status`, { status: settledStatus(metadata.generation ?? 0, commit, ref) });
    },
    bind: (rules = agentClusterRole.rules) => bind(client, namespace, rules),
    start: (env = {}, how = {}) => startAgent(t, pod, { env, ...how }),
    report: () => client.getAs<SyncReport>(syncReportPath(namespace, POD)),
    untilReport: (describe, accept) => until(() => pod.report(), { describe, accept }),
    untilStatus: async (describe, accept) => {
      const { status } = await pod.untilReport(describe, ({ status: found }) => found !== undefined && accept(found));
      return status ?? assert.fail();
    },
    untilSynced: (commit) =>
      pod.untilReport(`a report of ${commit}`, ({ status }) => status?.state === 'Synced' && status.commit === commit),
    files: () => readFiles(data),
  };
  if (bound) await pod.bind();
  return pod;
}

/** Creates a pod whose agent has all its permissions, and waits until it reports the delivered commit. */
export async function startSyncedPod(
  t: TestContext,
  { repo, commit, spec, ...options }: { repo: string; commit: string; spec?: object } & Pick<StartOptions, 'nodeArgs'>,
): Promise<{ pod: GatewayPod; agent: RunningAgent }> {
  const pod = await createGatewayPod(t);
  await pod.setSpec(repo, spec);
  await pod.settle(commit);
  const agent = await pod.start({}, options);
  await pod.untilSynced(commit);
  return { pod, agent };
}

async function createPod(client: KubernetesClient, namespace: string): Promise<string> {
  await client.create(corePath('serviceaccounts', namespace), { metadata: { name: 'gateway' } });
  const pod = {
    metadata: { name: POD, labels: { 'app.kubernetes.io/name': 'edge' } },
    // Nothing has to run it.
    spec: {
      serviceAccountName: 'gateway',
      schedulingGates: [{ name: 'sync.io/test' }],
      containers: [{ name: 'gateway', image: 'registry.invalid/gateway' }],
    },
  };
  const { metadata } = await client.create<{ metadata: { uid: string } }>(corePath('pods', namespace), pod);
  return metadata.uid;
}

async function bind(client: KubernetesClient, namespace: string, rules: object[]): Promise<void> {
  const rbac = 'rbac.authorization.k8s.io';
  const metadata = { name: 'sync-agent', namespace };
  await client.create(groupPath(`${rbac}/v1`, 'roles', namespace), { metadata, rules });
  await client.create(groupPath(`${rbac}/v1`, 'rolebindings', namespace), {
    metadata,
    roleRef: { apiGroup: rbac, kind: 'Role', name: 'sync-agent' },
    subjects: [{ kind: 'ServiceAccount', name: 'gateway', namespace }],
  });
}

function settledStatus(generation: number, commit: string, ref: string): object {
  return {
    observedGeneration: generation,
    lastSyncRef: ref,
    lastSyncCommit: commit,
    refResolutionStatus: 'Resolved',
    conditions: [
      {
        type: 'RefResolved',
        status: 'True',
        reason: 'Resolved',
        message: '',
        lastTransitionTime: new Date().toISOString(),
        observedGeneration: generation,
      },
    ],
  };
}

/** Unusual options for starting an agent. */
interface StartOptions extends Pick<ProgramOptions, 'nodeArgs' | 'cgroup' | 'within'> {
  /** Address of the API server for the agent. */
  apiUrl?: string;
}

async function startAgent(
  t: TestContext,
  pod: GatewayPod,
  { env, apiUrl, ...options }: StartOptions & { env: Record<string, string> },
): Promise<RunningAgent> {
  const cluster = await connectCluster();
  const own = await cluster.kubeconfigFor({ namespace: pod.namespace, serviceAccount: 'gateway', pod: POD });
  const KUBECONFIG = apiUrl === undefined ? own : path.join(path.dirname(pod.data), 'kubeconfig');
  if (apiUrl) await writeFile(KUBECONFIG, (await readFile(own, 'utf8')).replaceAll(cluster.url, apiUrl));
  const health = await freePort();
  const metrics = await freePort();
  const program = startProgram(t, BUNDLE, {
    ...options,
    env: {
      KUBECONFIG,
      POD_NAME: POD,
      POD_NAMESPACE: pod.namespace,
      POD_UID: pod.uid,
      CR_NAME: NAME,
      DATA_PATH: pod.data,
      REPO_PATH: pod.repo,
      HEALTH_PORT: String(health),
      METRICS_PORT: String(metrics),
      GIT_ALLOW_LOCAL: 'true',
      LOG_LEVEL: 'debug',
      ...env,
    },
  });
  const urls = { healthUrl: `http://127.0.0.1:${health}`, metricsUrl: `http://127.0.0.1:${metrics}` };
  return Object.defineProperties(program, Object.getOwnPropertyDescriptors(urls)) as RunningAgent;
}

async function readFiles(root: string): Promise<Record<string, string>> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const paths = entries.flatMap((entry) => (entry.isFile() ? path.join(entry.parentPath, entry.name) : []));
  const own = path.join(root, '.sync-agent');
  const contents = paths
    .filter((file) => !file.startsWith(own))
    .sort()
    .map(async (file) => [path.relative(root, file), await readFile(file, 'utf8')] as const);
  return Object.fromEntries(await Promise.all(contents));
}
