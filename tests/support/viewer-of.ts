import { apply, connectCluster } from './cluster.ts';

/** The kubeconfig of an account that may read GatewaySyncs and reports of its own namespace, and nothing else. */
export async function viewerOf(namespace: string): Promise<string> {
  const metadata = { name: 'viewer', namespace };
  await apply([
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'Role',
      metadata,
      rules: [{ apiGroups: ['sync.io'], resources: ['gatewaysyncs', 'syncreports'], verbs: ['get', 'list', 'watch'] }],
    },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'viewer' },
      subjects: [{ kind: 'ServiceAccount', ...metadata }],
    },
  ]);
  return await (await connectCluster()).kubeconfigFor({ namespace, serviceAccount: 'viewer' });
}
