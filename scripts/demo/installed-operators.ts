import { isOfChart } from '../../shared/api/names.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { groupPath } from '../../shared/io/kubernetes/resource-path.ts';

interface Deployment {
  metadata: { name: string; namespace: string; labels?: Record<string, string> };
  spec: { template: { spec: { containers: { env?: { name: string; value?: string }[] }[] } } };
}

/** Controllers that Helm, or what renders its charts, installed. Throws `ApiError`. */
export async function installedOperators(client: KubernetesClient): Promise<Deployment[]> {
  const query = { labelSelector: 'app.kubernetes.io/component=controller' };
  const path = groupPath('apps/v1', 'deployments');
  const { items } = await client.get<{ items: Deployment[] }>(path, { query });
  return items.filter(({ metadata: { labels } }) => isOfChart(labels));
}

/** Whether an operator handles the resources of a namespace. */
export function watches({ spec }: Deployment, namespace: string): boolean {
  const variables = spec.template.spec.containers.flatMap(({ env = [] }) => env);
  const watched = variables.find(({ name }) => name === 'WATCH_NAMESPACES')?.value ?? '';
  return watched === '' || watched.split(',').includes(namespace);
}

/** Where an operator is installed, in words. */
export const isInstalled = ({ metadata: { namespace, name } }: Deployment): string =>
  `the operator is installed in this cluster (Deployment ${namespace}/${name})`;
