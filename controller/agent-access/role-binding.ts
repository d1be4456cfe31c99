import { API_VERSION, GATEWAY_SYNC } from '../../shared/api/group.ts';
import { AGENT_CLUSTER_ROLE, agentRoleBindingName, FIELD_MANAGERS } from '../../shared/api/names.ts';
import type { OwnerReference } from '../../shared/api/object-meta.ts';
import { unlessStatus } from '../../shared/io/kubernetes/api-error.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { groupPath } from '../../shared/io/kubernetes/resource-path.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import type { ObservedPod } from '../watch/observed-pod.ts';
import {
  fingerprintOf,
  MANAGED_BY,
  type ObservedRoleBinding,
  projectRoleBinding,
  RBAC,
  type RoleBinding,
} from '../watch/observed-role-binding.ts';

const AGENT_ROLE = `ClusterRole/${AGENT_CLUSTER_ROLE}`;
const query = { fieldManager: FIELD_MANAGERS.controller };

/** Desired content of a RoleBinding, and the current object. */
export interface Binding {
  /** Sorted names of service accounts. */
  serviceAccounts: string[];
  /** Pods that own it besides the resource, and with which it outlives it, so that their agents can still report. */
  keepers: Keeper[];
  current: ObservedRoleBinding | undefined;
}

type Keeper = Pick<ObservedPod, 'name' | 'uid'>;

/** Each owning pod costs a write when it is deleted. */
const MAX_KEEPERS = 2;

/** Returns the desired RoleBinding for the pods of a resource. Pods that own it already keep doing so. */
export function bindingOf(pods: ObservedPod[], current: ObservedRoleBinding | undefined): Binding {
  const serviceAccounts = [...new Set(pods.map(({ serviceAccountName }) => serviceAccountName))].sort();
  const owns = ({ uid }: ObservedPod) => current?.podUIDs.includes(uid) ?? false;
  const keepers = pods
    .filter(({ live }) => live)
    .sort((a, b) => Number(owns(b)) - Number(owns(a)) || (a.name < b.name ? -1 : 1))
    .slice(0, MAX_KEEPERS)
    .map(({ name, uid }) => ({ name, uid }));
  return { serviceAccounts, keepers, current };
}

/**
 * Updates the RoleBinding of a resource with the service accounts of its pods. A roleRef is immutable, so a binding to
 * another role is re-created. Without pods, none is created. A foreign one of this name stays unchanged.
 */
export async function ensureRoleBinding(
  client: KubernetesClient,
  gatewaySync: ObservedGatewaySync,
  binding: Binding,
): Promise<'unchanged' | 'written' | 'foreign'> {
  const { serviceAccounts, keepers, current } = binding;
  const path = pathOf(gatewaySync);
  const desired = () => roleBindingOf(gatewaySync, binding);
  const create = () => client.create(groupPath(RBAC, 'rolebindings', gatewaySync.namespace), desired(), { query });
  if (!current) {
    if (serviceAccounts.length === 0) return 'unchanged';
    if (await unlessStatus(409, create())) return 'written';
    // The watch delivers only those with our label, and with a delay.
    const existing = projectRoleBinding(await client.getAs<RoleBinding>(path));
    return await ensureRoleBinding(client, gatewaySync, { ...binding, current: existing });
  }
  if (!current.isOurs) return serviceAccounts.length === 0 ? 'unchanged' : 'foreign';
  const { ownerUID, podUIDs, roleRef, subjects } = current;
  const isOwned = ownerUID === gatewaySync.uid && keepers.every(({ uid }) => podUIDs.includes(uid));
  if (isOwned && roleRef === AGENT_ROLE && subjects === fingerprintOf(serviceAccounts)) return 'unchanged';
  if (roleRef !== AGENT_ROLE) await unlessStatus(404, client.delete(path));
  else if (await unlessStatus(404, client.mergePatch(path, desired(), { query }))) return 'written';
  if (serviceAccounts.length === 0) return 'unchanged';
  // Fails if it still exists, for example because of a finalizer. Otherwise, this would never end.
  await create();
  return 'written';
}

const pathOf = ({ namespace, name }: ObservedGatewaySync) =>
  groupPath(RBAC, 'rolebindings', namespace, agentRoleBindingName(name));

function roleBindingOf({ namespace, name, uid }: ObservedGatewaySync, { serviceAccounts, keepers }: Binding) {
  const ownerReferences: OwnerReference[] = [
    { apiVersion: API_VERSION, kind: GATEWAY_SYNC.kind, name, uid },
    ...keepers.map((keeper) => ({ apiVersion: 'v1', kind: 'Pod', ...keeper })),
  ];
  return {
    apiVersion: RBAC,
    kind: 'RoleBinding',
    metadata: { name: agentRoleBindingName(name), namespace, labels: MANAGED_BY, ownerReferences },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: AGENT_CLUSTER_ROLE },
    subjects: serviceAccounts.map((account) => ({ kind: 'ServiceAccount', name: account, namespace })),
  };
}
