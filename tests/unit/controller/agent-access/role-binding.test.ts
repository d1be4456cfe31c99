import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ensureRoleBinding } from '../../../../controller/agent-access/role-binding.ts';
import { MANAGED_BY, projectRoleBinding } from '../../../../controller/watch/observed-role-binding.ts';
import { agentRoleBindingName } from '../../../../shared/api/names.ts';
import { ApiError } from '../../../../shared/io/kubernetes/api-error.ts';
import type { KubernetesClient } from '../../../../shared/io/kubernetes/client.ts';
import { resourceOf } from '../support/requested-resource.ts';

test('a RoleBinding to another role that a finalizer keeps is reported, and not deleted again and again', async () => {
  const metadata = { namespace: 'ns', name: agentRoleBindingName('app'), uid: 'uid', labels: MANAGED_BY };
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' };
  const stored = { metadata: { ...metadata, finalizers: ['example.com/keep'] }, roleRef };
  let calls = 0;
  const answer = async <T>(value: T): Promise<T> => {
    calls += 1;
    if (calls > 20) throw new Error('without an end');
    return value;
  };
  const exists = () => answer(undefined).then(() => Promise.reject(new ApiError(409, '{}')));
  const client = { create: exists, getAs: () => answer(stored), delete: () => answer(stored) };
  const binding = { serviceAccounts: ['default'], keepers: [], current: undefined };
  const ensure = (current = binding) =>
    ensureRoleBinding(client as unknown as KubernetesClient, resourceOf({}), current);
  await assert.rejects(ensure(), { status: 409 });
  await assert.rejects(ensure({ ...binding, current: projectRoleBinding(stored as never) as never }), { status: 409 });
});
