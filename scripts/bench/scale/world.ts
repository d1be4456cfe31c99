import { AGENT_CLUSTER_ROLE } from '../../../shared/api/names.ts';
import type { KubernetesClient } from '../../../shared/io/kubernetes/client.ts';
import { corePath, groupPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { agentClusterRole } from '../../testbed/agent-role.ts';
import { freePort } from '../../testbed/free-port.ts';
import type { GitRepository } from '../../testbed/git-repository.ts';
import { step } from '../../testbed/step.ts';
import { webhookConfiguration } from '../../testbed/webhook-configuration.ts';
import { inParallel } from '../support/in-parallel.ts';
import { createRepositories } from '../support/repositories.ts';
import { createResource, type World } from '../support/world.ts';
import type { Size } from './size.ts';

/** The namespace of the operator. */
export const SYSTEM = 'stoker-system';
/** Name of the admission webhook configuration. */
export const WEBHOOK = 'stoker-scale';
const RBAC = 'rbac.authorization.k8s.io/v1';
const LABELS = { bench: 'scale' };

/** A GatewaySync of the benchmark. */
export interface Resource {
  key: string;
  namespace: string;
  name: string;
  repository: GitRepository;
}

export interface ScaleWorld extends World {
  size: Size;
  repositories: GitRepository[];
  resources: Resource[];
  /** Port where the first controller serves the webhook. */
  admissionPort: number;
}

/** Creates namespaces, accounts, repositories, and resources, without pods or programs. */
export async function fillWorld(world: World, size: Size): Promise<ScaleWorld> {
  const { client } = world;
  await createNamespaces(client, size);
  await createAccounts(client);
  const repositories = await step(`Creating ${size.repositories} repositories`, () =>
    createRepositories(world.server, size),
  );
  const resources = Array.from({ length: size.resources }, (_, index): Resource => {
    const namespace = `gateways-${Math.floor((index * size.namespaces) / size.resources)}`;
    const repository = repositories[index % repositories.length] as GitRepository;
    return { key: `${namespace}/resource-${index}`, namespace, name: `resource-${index}`, repository };
  });
  const spec = { polling: { interval: `${size.interval}s` } };
  await step(`Creating ${size.resources} resources`, () =>
    inParallel(resources.length, 32, async (index) => {
      const { namespace, name, repository } = resources[index] as Resource;
      await createResource(world, { namespace, name, repo: repository.url, spec });
    }),
  );
  const admissionPort = await freePort();
  await installWebhook(client, admissionPort);
  return { ...world, size, repositories, resources, admissionPort };
}

async function createNamespaces(client: KubernetesClient, { namespaces }: Size): Promise<void> {
  const names = [SYSTEM, ...Array.from({ length: namespaces }, (_, index) => `gateways-${index}`)];
  for (const name of names) await client.create(corePath('namespaces'), { metadata: { name, labels: LABELS } });
}

/** Each program has its own account, because API priority and fairness exempts the administrator. */
async function createAccounts(client: KubernetesClient): Promise<void> {
  await client.create(groupPath(RBAC, 'clusterroles'), { ...agentClusterRole, metadata: { name: AGENT_CLUSTER_ROLE } });
  const subjects = ['controller', 'receiver'].map((name) => ({ kind: 'ServiceAccount', name, namespace: SYSTEM }));
  for (const { name } of subjects) await client.create(corePath('serviceaccounts', SYSTEM), { metadata: { name } });
  await client.create(groupPath(RBAC, 'clusterrolebindings'), {
    metadata: { name: 'scale' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects,
  });
}

async function installWebhook(client: KubernetesClient, port: number): Promise<void> {
  const configuration = webhookConfiguration({ name: WEBHOOK, namespace: '', port });
  const namespaceSelector = { matchLabels: LABELS };
  await client.create(groupPath('admissionregistration.k8s.io/v1', 'mutatingwebhookconfigurations'), {
    ...configuration,
    webhooks: configuration.webhooks.map((webhook) => ({ ...webhook, namespaceSelector })),
  });
}
