import { cp } from 'node:fs/promises';
import { API_VERSION, GATEWAY_SYNC } from '../../../shared/api/group.ts';
import { AGENT_CLUSTER_ROLE } from '../../../shared/api/names.ts';
import type { KubernetesClient } from '../../../shared/io/kubernetes/client.ts';
import { corePath, gatewaySyncPath, groupPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { agentClusterRole } from '../../testbed/agent-role.ts';
import { clientOf } from '../../testbed/client-of.ts';
import { type ControlPlane, startControlPlane } from '../../testbed/control-plane.ts';
import { freePort } from '../../testbed/free-port.ts';
import type { GitRepository } from '../../testbed/git-repository.ts';
import { type GitServer, startGitServer } from '../../testbed/git-server.ts';
import { installCrds } from '../../testbed/install-crds.ts';
import { step } from '../../testbed/step.ts';
import { webhookConfiguration } from '../../testbed/webhook-configuration.ts';

/** Where the programs themselves are. */
export const SYSTEM = 'stoker-system';
/** Name of the admission webhook's configuration. */
export const WEBHOOK = 'stoker-scale';
/** Copies are made of what is stored. */
const apiServerArgs = ['--storage-media-type=application/json'];
const RBAC = 'rbac.authorization.k8s.io/v1';

/** What is created, and for how long and how often it changes. */
export interface Size {
  resources: number;
  pods: number;
  repositories: number;
  namespaces: number;
  /** Names by which the one git server is called, each a host with its own limits. */
  hosts: number;
  minutes: number;
  /** Seconds between two polls of a resource. */
  interval: number;
  /** Commits a minute, each delivered to all resources of its repository. */
  pushes: number;
  /** Commits a minute of which only a poll tells. */
  commits: number;
  /** Releases a minute, each of one resource. */
  releases: number;
  /** Edits of a spec a minute. */
  edits: number;
  /** Pods a minute that go, each followed by another one. */
  churn: number;
  receivers: number;
  /** Agents that fetch one commit in the middle. */
  agents: number;
  /** Watches of one resource each, as agents hold them. */
  watches: number;
  /** Limit of each controller, in MiB. */
  memory: number;
}

/** A GatewaySync of the benchmark. */
export interface Resource {
  key: string;
  namespace: string;
  name: string;
  repository: GitRepository;
}

export interface World {
  size: Size;
  cluster: ControlPlane;
  client: KubernetesClient;
  server: GitServer;
  repositories: GitRepository[];
  resources: Resource[];
  /** Where the first controller takes reviews of pods. */
  admissionPort: number;
}

/** A control plane, a git server, repositories and the first resource; no pods yet, and no program runs. */
export async function makeWorld(size: Size): Promise<World> {
  const cluster = await step('Starting a control plane', () => startControlPlane({ apiServerArgs }));
  await installCrds(cluster);
  const client = clientOf(cluster.kubeconfig, { userAgent: 'bench', maxSockets: 64 });
  await client.create(groupPath(RBAC, 'clusterroles'), { ...agentClusterRole, metadata: { name: AGENT_CLUSTER_ROLE } });
  await step('Creating namespaces and accounts', () => createNamespaces(client, size));
  const server = await startGitServer({ address: '0.0.0.0' });
  const repositories = await step(`Creating ${size.repositories} repositories`, () => createRepositories(server, size));
  const resources = Array.from({ length: size.resources }, (_, index): Resource => {
    const namespace = namespaceOf(Math.floor((index * size.namespaces) / size.resources));
    const repository = repositories[index % repositories.length] as GitRepository;
    return { key: `${namespace}/resource-${index}`, namespace, name: `resource-${index}`, repository };
  });
  await createResource(client, resources[0] as Resource, size);
  return { size, cluster, client, server, repositories, resources, admissionPort: await freePort() };
}

/** Lets the API server call an admission endpoint on this machine for all pods of the benchmark. */
export async function installWebhook({ client, admissionPort: port }: World): Promise<void> {
  const configuration = webhookConfiguration({ name: WEBHOOK, namespace: '', port });
  const webhooks = configuration.webhooks.map((webhook) => ({
    ...webhook,
    namespaceSelector: { matchLabels: { bench: 'scale' } },
  }));
  const path = groupPath('admissionregistration.k8s.io/v1', 'mutatingwebhookconfigurations');
  await client.create(path, { ...configuration, webhooks });
}

/** A kubeconfig of a program's own account: the administrator's calls are exempt from priority and fairness. */
export const kubeconfigOf = ({ cluster }: World, serviceAccount: string): Promise<string> =>
  cluster.kubeconfigFor({ namespace: SYSTEM, serviceAccount });

const namespaceOf = (index: number): string => `gateways-${index}`;

async function createNamespaces(client: KubernetesClient, { namespaces }: Size): Promise<void> {
  const names = [SYSTEM, ...Array.from({ length: namespaces }, (_, index) => namespaceOf(index))];
  for (const name of names) {
    await client.create(corePath('namespaces'), { metadata: { name, labels: { bench: 'scale' } } });
  }
  const subjects = ['controller', 'receiver'].map((name) => ({ kind: 'ServiceAccount', name, namespace: SYSTEM }));
  for (const { name } of subjects) await client.create(corePath('serviceaccounts', SYSTEM), { metadata: { name } });
  await client.create(groupPath(RBAC, 'clusterrolebindings'), {
    metadata: { name: 'scale' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects,
  });
}

/** Copies of one repository: git would start six times for each. */
async function createRepositories(server: GitServer, { repositories, hosts }: Size): Promise<GitRepository[]> {
  const first = await server.createRepository('repository-0');
  await first.commit({ files: { 'config/a': '1' } });
  for (const tag of ['v1', 'v2']) await first.tag(tag);
  const made: GitRepository[] = [];
  for (let index = 0; index < repositories; index += 1) {
    const repository = index === 0 ? first : await server.createRepository(`repository-${index}`);
    if (index > 0) await cp(first.path, repository.path, { recursive: true });
    made.push({ ...repository, url: repository.url.replace('127.0.0.1', `127.0.0.${1 + (index % hosts)}`) });
  }
  return made;
}

function createResource(
  client: KubernetesClient,
  { namespace, name, repository }: Resource,
  { interval }: Size,
): Promise<unknown> {
  const mappings = [
    { source: 'config', destination: 'config' },
    { source: 'gateways/{{ .GatewayName }}', destination: 'config' },
  ];
  return client.create(gatewaySyncPath(namespace), {
    apiVersion: API_VERSION,
    kind: GATEWAY_SYNC.kind,
    metadata: { name, namespace },
    spec: {
      git: { repo: repository.url, ref: 'main' },
      polling: { interval: `${interval}s` },
      sync: { profiles: { default: { mappings } } },
    },
  });
}
