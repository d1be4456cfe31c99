import { connect } from '../../cli/client/connect.ts';
import { GROUP } from '../../shared/api/group.ts';
import { gatewaySyncPath } from '../../shared/io/kubernetes/resource-path.ts';
import { apply, connectCluster } from './cluster.ts';
import { until } from './until.ts';

/** Grants users permission to view and approve, or only to view, and waits until the API server has noticed that. */
export async function permit(namespace: string, { can, users }: { can: 'view' | 'approve'; users: string[] }) {
  const { kubeconfig } = await connectCluster();
  const metadata = { name: can, namespace };
  const rbac = 'rbac.authorization.k8s.io';
  const patch = { apiGroups: [GROUP], resources: ['syncreleases'], verbs: ['patch'] };
  const view = { apiGroups: [GROUP], resources: ['gatewaysyncs', 'syncreleases'], verbs: ['get', 'list', 'watch'] };
  await apply([
    { apiVersion: `${rbac}/v1`, kind: 'Role', metadata, rules: can === 'approve' ? [view, patch] : [view] },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: rbac, kind: 'Role', name: can },
      subjects: users.map((name) => ({ apiGroup: rbac, kind: 'User', name })),
    },
  ]);
  for (const as of users) {
    const { client } = connect({ kubeconfig, namespace, as }, {});
    await until(async () => (await client.getAs(gatewaySyncPath(namespace))) !== undefined, {
      describe: `the permissions of ${as}`,
    });
    client.close();
  }
}
