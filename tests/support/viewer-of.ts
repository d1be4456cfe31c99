import { clientOf } from '../../scripts/testbed/client-of.ts';
import { syncReportPath } from '../../shared/io/kubernetes/resource-path.ts';
import { apply, connectCluster } from './cluster.ts';
import { until } from './until.ts';

/**
 * Returns the kubeconfig of an account that can only read GatewaySyncs and reports of its own namespace; waits until the
 * API server has noticed the permissions.
 */
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
  const kubeconfig = await (await connectCluster()).kubeconfigFor({ namespace, serviceAccount: 'viewer' });
  const client = clientOf(kubeconfig, { userAgent: 'test' });
  await until(async () => (await client.get(syncReportPath(namespace))) !== undefined, {
    describe: 'the rights of the viewer',
  });
  return kubeconfig;
}
