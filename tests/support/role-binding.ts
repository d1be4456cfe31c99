import type { Address } from './gateway-syncs.ts';

const API_GROUP = 'rbac.authorization.k8s.io';

/** Gives service accounts of a namespace, by default its default account, a ClusterRole in this namespace. */
export const roleBinding = ({ namespace, name }: Address, role: string, accounts = ['default']) => ({
  apiVersion: `${API_GROUP}/v1`,
  kind: 'RoleBinding',
  metadata: { namespace, name },
  roleRef: { apiGroup: API_GROUP, kind: 'ClusterRole', name: role },
  subjects: accounts.map((account) => ({ kind: 'ServiceAccount', namespace, name: account })),
});

/** Gives a service account a ClusterRole in the whole cluster. */
export const clusterRoleBinding = (name: string, role: string, account: Address) => ({
  apiVersion: `${API_GROUP}/v1`,
  kind: 'ClusterRoleBinding',
  metadata: { name },
  roleRef: { apiGroup: API_GROUP, kind: 'ClusterRole', name: role },
  subjects: [{ kind: 'ServiceAccount', ...account }],
});
