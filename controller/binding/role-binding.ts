import { API_VERSION, GATEWAY_SYNC } from '../../shared/api/group.ts';
import { AGENT_CLUSTER_ROLE, agentRoleBindingName, FIELD_MANAGERS } from '../../shared/api/names.ts';
import type { OwnerReference } from '../../shared/api/object-meta.ts';
import { isApiError } from '../../shared/io/kubernetes/api-error.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { groupPath } from '../../shared/io/kubernetes/resource-path.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import {
  fingerprintOf,
  MANAGED_BY,
  type ObservedRoleBinding,
  projectRoleBinding,
  RBAC,
  type RoleBinding,
} from '../watch/observed-role-binding.ts';

const WANTED_ROLE = `ClusterRole/${AGENT_CLUSTER_ROLE}`;
const query = { fieldManager: FIELD_MANAGERS.controller };

/** What a RoleBinding is to hold, and what is known of the one that there is. */
export interface Binding {
  /** Names of service accounts, sorted. */
  serviceAccounts: string[];
  current: ObservedRoleBinding | undefined;
}

/**
 * Brings the RoleBinding of a resource in line with the service accounts of its pods. A role cannot be changed in
 * place, so a binding to another role is made anew. Without pods none is made. One of that name that somebody else
 * keeps (`foreign`) is left alone.
 */
export async function ensureRoleBinding(
  client: KubernetesClient,
  gatewaySync: ObservedGatewaySync,
  { serviceAccounts, current }: Binding,
): Promise<'unchanged' | 'written' | 'foreign'> {
  if (!current) {
    if (serviceAccounts.length === 0) return 'unchanged';
    const existing = await createUnlessThere(client, gatewaySync, serviceAccounts);
    return existing ? await ensureRoleBinding(client, gatewaySync, { serviceAccounts, current: existing }) : 'written';
  }
  if (!current.isOurs) return serviceAccounts.length === 0 ? 'unchanged' : 'foreign';
  const { ownerUID, roleRef, subjects } = current;
  if (ownerUID === gatewaySync.uid && roleRef === WANTED_ROLE && subjects === fingerprintOf(serviceAccounts))
    return 'unchanged';
  await replace(client, gatewaySync, { serviceAccounts, current });
  return 'written';
}

/** Gives the RoleBinding that is in the way: the watch brings only those with our label, and brings them late. */
async function createUnlessThere(
  client: KubernetesClient,
  gatewaySync: ObservedGatewaySync,
  serviceAccounts: string[],
): Promise<ObservedRoleBinding | undefined> {
  const { namespace } = gatewaySync;
  try {
    await client.create(groupPath(RBAC, 'rolebindings', namespace), roleBindingOf(gatewaySync, serviceAccounts), {
      query,
    });
    return undefined;
  } catch (error) {
    if (!isApiError(error, 409)) throw error;
    return projectRoleBinding(await client.get<RoleBinding>(pathOf(gatewaySync)));
  }
}

async function replace(
  client: KubernetesClient,
  gatewaySync: ObservedGatewaySync,
  { serviceAccounts, current }: Binding,
): Promise<void> {
  const desired = roleBindingOf(gatewaySync, serviceAccounts);
  if (current?.roleRef !== WANTED_ROLE) await client.delete(pathOf(gatewaySync)).catch(ignoreAbsence);
  try {
    await client.mergePatch(pathOf(gatewaySync), desired, { query });
  } catch (error) {
    if (!isApiError(error, 404)) throw error;
    await client.create(groupPath(RBAC, 'rolebindings', gatewaySync.namespace), desired, { query });
  }
}

const pathOf = ({ namespace, name }: ObservedGatewaySync) =>
  groupPath(RBAC, 'rolebindings', namespace, agentRoleBindingName(name));

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
