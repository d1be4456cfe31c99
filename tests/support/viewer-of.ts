import { gatewaySyncPath } from '../../shared/io/kubernetes/resource-path.ts';
import { apply, connectCluster } from './cluster.ts';
import { untilPermitted } from './until-permitted.ts';

/**
 * Returns the kubeconfig of an account that can only read GatewaySyncs and the given kinds in its own namespace; waits
 * until the API server has noticed the permissions.
 */
export async function viewerOf(
  namespace: string,
  kinds: ('pods' | 'syncreleases' | 'syncreports')[] = ['syncreports'],
  verbs: ('get' | 'list' | 'watch')[] = ['get', 'list', 'watch'],
): Promise<string> {
  const metadata = { name: ['viewer', ...kinds, verbs.length].join('-'), namespace };
  await apply([
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'Role',
      metadata,
      rules: [
        { apiGroups: ['sync.io'], resources: ['gatewaysyncs', ...kinds.filter((kind) => kind !== 'pods')], verbs },
        ...(kinds.includes('pods') ? [{ apiGroups: [''], resources: ['pods'], verbs: ['list', 'watch'] }] : []),
      ],
    },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: metadata.name },
      subjects: [{ kind: 'ServiceAccount', ...metadata }],
    },
  ]);
  const kubeconfig = await (await connectCluster()).kubeconfigFor({ namespace, serviceAccount: metadata.name });
  return await untilPermitted(kubeconfig, gatewaySyncPath(namespace));
}
