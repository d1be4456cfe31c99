import { apply } from '../../support/cluster.ts';
import type { Rendered } from './render.ts';
import { render } from './render.ts';

const wanted =
  /^(ServiceAccount|ClusterRole|Role|ClusterRoleBinding|RoleBinding|ValidatingAdmissionPolicy|ValidatingAdmissionPolicyBinding)$/;

/**
 * Installs the accounts, roles and policies of the chart, named after a namespace, which the policies are limited to:
 * the cluster is shared with other tests. Gives the objects.
 */
export async function installRights(namespace: string, values: object = {}): Promise<Rendered[]> {
  const all = await render(
    { fullnameOverride: namespace, webhookReceiver: { enabled: true }, ...values },
    { namespace },
  );
  const objects = all.filter(({ kind }) => wanted.test(kind));
  for (const object of objects) {
    if (object.kind !== 'ValidatingAdmissionPolicyBinding') continue;
    object.spec.matchResources = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } } };
  }
  await apply(objects, '--force-conflicts');
  return objects;
}
