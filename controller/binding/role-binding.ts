import { API_VERSION, GATEWAY_SYNC } from '../../shared/api/group.ts';
import { AGENT_CLUSTER_ROLE, agentRoleBindingName, FIELD_MANAGERS } from '../../shared/api/names.ts';
import type { OwnerReference } from '../../shared/api/object-meta.ts';
import { isApiError } from '../../shared/io/kubernetes/api-error.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { groupPath } from '../../shared/io/kubernetes/resource-path.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import { type ObservedRoleBinding, RBAC } from '../watch/observed-role-binding.ts';

const MANAGED_BY = { 'app.kubernetes.io/managed-by': FIELD_MANAGERS.controller };

/**
 * Brings the RoleBinding of a resource in line with the service accounts of its pods. A role cannot be changed in
 * place, so a binding to another role is made anew. Without pods none is made.
 */
export async function ensureRoleBinding(
  client: KubernetesClient,
  gatewaySync: ObservedGatewaySync,
  { serviceAccounts, current }: { serviceAccounts: string[]; current: ObservedRoleBinding | undefined },
): Promise<'unchanged' | 'written'> {
  const { namespace, name, uid } = gatewaySync;
  const wantedRole = `ClusterRole/${AGENT_CLUSTER_ROLE}`;
  if (!current && serviceAccounts.length === 0) return 'unchanged';
  const same =
    current && current.ownerUID === uid && current.roleRef === wantedRole && equal(current.subjects, serviceAccounts);
  if (same) return 'unchanged';
  const path = groupPath(RBAC, 'rolebindings', namespace);
  const named = groupPath(RBAC, 'rolebindings', namespace, agentRoleBindingName(name));
  const query = { fieldManager: FIELD_MANAGERS.controller };
  if (current && current.roleRef !== wantedRole) await client.delete(named).catch(ignoreAbsence);
  const desired = roleBindingOf(gatewaySync, serviceAccounts);
  try {
    await client.mergePatch(named, desired, { query });
  } catch (error) {
    if (!isApiError(error, 404)) throw error;
    await client.create(path, desired, { query });
  }
  return 'written';
}

function roleBindingOf({ namespace, name, uid }: ObservedGatewaySync, serviceAccounts: string[]) {
  const owner: OwnerReference = { apiVersion: API_VERSION, kind: GATEWAY_SYNC.kind, name, uid };
  return {
    apiVersion: RBAC,
    kind: 'RoleBinding',
    metadata: { name: agentRoleBindingName(name), namespace, labels: MANAGED_BY, ownerReferences: [owner] },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: AGENT_CLUSTER_ROLE },
    subjects: serviceAccounts.map((account) => ({ kind: 'ServiceAccount', name: account, namespace })),
  };
}

function ignoreAbsence(error: unknown): void {
  if (!isApiError(error, 404)) throw error;
}

function equal(a: string[], b: string[]): boolean {
  return a.length === b.length && a.every((value, index) => value === b[index]);
}
