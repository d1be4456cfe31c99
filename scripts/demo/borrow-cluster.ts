import { setTimeout as sleep } from 'node:timers/promises';
import { GATEWAY_SYNC, SYNC_REPORT } from '../../shared/api/group.ts';
import { isApiError } from '../../shared/io/kubernetes/api-error.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { corePath, gatewaySyncPath, groupPath } from '../../shared/io/kubernetes/resource-path.ts';
import { NAMESPACE } from './objects.ts';

interface Deployment {
  metadata: { name: string; namespace: string };
  spec: { template: { spec: { containers: { env?: { name: string; value?: string }[] }[] } } };
}

/** What the demo brought into somebody's cluster, and takes away again. */
export interface Borrowed {
  /** Whether the CRDs are there on the demo's account. */
  ownsCrds: boolean;
}

/**
 * Looks what the demo has to bring into somebody's cluster, and changes nothing. CRDs that are there stay as they are:
 * Helm would not take over what somebody else wrote. Throws, in words, where an operator would handle the demo's resource
 * as well.
 */
export async function borrowCluster(client: KubernetesClient): Promise<Borrowed> {
  const other = (await operatorsOf(client)).find((operator) => watches(operator, NAMESPACE));
  if (other) throw new Error(isInstalled(other));
  return { ownsCrds: !(await hasCrds(client)) };
}

/** Removes the namespace; and the CRDs, if they came with the demo and nobody has used them since. Says what stays. */
export async function giveBack(client: KubernetesClient, { ownsCrds }: Borrowed): Promise<string> {
  await remove(client, corePath('namespaces', undefined, NAMESPACE));
  if (!ownsCrds) return 'The CRDs were there before, and stay.';
  const others = (await listResources(client)).filter(({ metadata }) => metadata.namespace !== NAMESPACE);
  if (others.length > 0) return `The CRDs stay: ${others.length} GatewaySyncs of yours need them.`;
  for (const { plural } of [GATEWAY_SYNC, SYNC_REPORT]) await remove(client, crdPath(plural));
  return 'The namespace and the CRDs are removed.';
}

interface Listed {
  metadata: { namespace: string };
}

/** None where their CRD is not served. Right after it came the API server says 429 for a moment, which is waited for. */
async function listResources(client: KubernetesClient): Promise<Listed[]> {
  for (const deadline = Date.now() + 30_000; ; await sleep(200)) {
    try {
      return (await client.get<{ items: Listed[] }>(gatewaySyncPath())).items;
    } catch (error) {
      if (isApiError(error, 404)) return [];
      if (!isApiError(error, 429) || Date.now() > deadline) throw error;
    }
  }
}

/** Controllers that Helm, or what renders its charts, installed; none where we may not look. */
async function operatorsOf(client: KubernetesClient): Promise<Deployment[]> {
  const labelSelector = 'app.kubernetes.io/name=stoker-operator,app.kubernetes.io/component=controller';
  const path = groupPath('apps/v1', 'deployments');
  return await client.request<{ items: Deployment[] }>({ method: 'GET', path, query: { labelSelector } }).then(
    ({ items }) => items,
    (error) => {
      if (isApiError(error, 403)) return [];
      throw error;
    },
  );
}

function watches({ spec }: Deployment, namespace: string): boolean {
  const variables = spec.template.spec.containers.flatMap(({ env = [] }) => env);
  const watched = variables.find(({ name }) => name === 'WATCH_NAMESPACES')?.value ?? '';
  return watched === '' || watched.split(',').includes(namespace);
}

async function hasCrds(client: KubernetesClient): Promise<boolean> {
  const found = await client.get(crdPath(GATEWAY_SYNC.plural)).catch((error) => {
    if (isApiError(error, 404)) return undefined;
    throw error;
  });
  return found !== undefined;
}

const crdPath = (plural: string) =>
  groupPath('apiextensions.k8s.io/v1', 'customresourcedefinitions', undefined, `${plural}.sync.io`);

async function remove(client: KubernetesClient, path: string): Promise<void> {
  await client.delete(path).catch((error) => {
    if (!isApiError(error, 404)) throw error;
  });
}

const isInstalled = ({ metadata: { namespace, name } }: Deployment) =>
  `the operator is installed in this cluster (Deployment ${namespace}/${name}) and watches the namespace ${NAMESPACE}, so two controllers would handle the demo's resource. Nothing was changed. To see it work there, follow docs/tutorials/getting-started.md from its second step; for the demo, choose another context, or none`;
