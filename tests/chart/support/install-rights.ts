import type { Scope } from '../../support/clean-up.ts';
import { apply, createNamespace, remove } from '../../support/cluster.ts';
import { render } from './render.ts';

const wanted =
  /^(ServiceAccount|ClusterRole|Role|ClusterRoleBinding|RoleBinding|ValidatingAdmissionPolicy|ValidatingAdmissionPolicyBinding)$/;

/**
 * Installs the accounts, roles and policies of the chart, named after the namespace that they are for (by default a new
 * one), until the test is over. The policies are limited to it: the cluster is shared with other tests. Gives the namespace.
 */
export async function installRights(t: Scope, given: { namespace?: string; values?: object } = {}): Promise<string> {
  const namespace = given.namespace ?? (await createNamespace(t));
  const values = { fullnameOverride: namespace, webhookReceiver: { enabled: true }, ...given.values };
  const objects = (await render(values, { namespace })).filter(({ kind }) => wanted.test(kind));
  for (const object of objects) {
    if (object.kind !== 'ValidatingAdmissionPolicyBinding') continue;
    object.spec.matchResources = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } } };
  }
  await apply(objects, '--force-conflicts');
  // The ClusterRole of the agents has one name in every installation.
  const outside = objects.filter(({ metadata }) => !metadata.namespace && metadata.name !== 'sync-agent');
  t.after(() => remove(outside));
  return namespace;
}
