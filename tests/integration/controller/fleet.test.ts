import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { apply, connectCluster, createNamespace, kubectl } from '../../support/cluster.ts';
import { slow } from '../../support/depth.ts';
import { injectedPod, outsiderUID, report } from '../../support/gateway-pods.ts';
import {
  type Address,
  applyGatewaySync,
  condition,
  untilCommit,
  untilCondition,
  untilStatus,
} from '../../support/gateway-syncs.ts';
import { serveRepository } from '../../support/git-server-for.ts';
import { roleBinding } from '../../support/role-binding.ts';
import { shareController, startController } from '../../support/start-controller.ts';
import { until } from '../../support/until.ts';

const newAddress = shareController();

async function arrange(t: TestContext) {
  const { repository, commit } = await serveRepository(t);
  const address = newAddress();
  await applyGatewaySync(address, { repo: repository.url });
  await untilCommit(address, commit);
  return { address, commit };
}

interface RoleBinding {
  metadata: { ownerReferences: { kind: string; name: string }[] };
  roleRef: { name: string };
  subjects?: { name: string }[];
}

const readRoleBinding = async ({ namespace, name }: Address) =>
  JSON.parse(
    await kubectl('get', 'rolebinding', `sync-agent-${name}`, '--namespace', namespace, '--output', 'json'),
  ) as RoleBinding;

const untilSubjects = (address: Address, subjects: string[]) =>
  until(() => readRoleBinding(address), {
    describe: `bound to ${subjects}`,
    accept: (binding) =>
      isDeepStrictEqual(
        binding.subjects?.map(({ name }) => name),
        subjects,
      ),
  });

suite('the status of the fleet', { concurrency: 4 }, () => {
  test("reflects the agents' reports about the resolved commit", async (t) => {
    const { address, commit } = await arrange(t);
    const { namespace, name } = address;
    for (const pod of ['a', 'b', 'c']) await apply(injectedPod(namespace, pod, name));
    const pending = await untilStatus(address, { gateways: { pending: 3 } });
    assert.equal(condition(pending, 'Ready')?.status, 'Unknown');
    await report({ namespace, name: 'a' }, { commit, ref: 'main' });
    await report({ namespace, name: 'b' }, { commit: 'f'.repeat(40), ref: 'main' });
    await report({ namespace, name: 'c' }, { state: 'Error', message: 'no space left on device' });
    const mixed = await untilStatus(address, { gateways: { error: 1, skewed: 1 } });
    assert.equal(mixed.status?.gateways?.summary, '1/3 synced');
    assert.equal(condition(mixed, 'Ready')?.status, 'False');
    assert.match(condition(mixed, 'Ready')?.message ?? '', /c: no space left on device/);
    for (const pod of ['b', 'c']) await report({ namespace, name: pod }, { commit, ref: 'main' });
    const synced = await untilCondition(address, 'Ready', 'True');
    assert.equal(synced.status?.gateways?.summary, '3/3 synced');
    assert.equal(condition(synced, 'AllGatewaysSynced')?.status, 'True');
    assert.deepEqual(
      synced.status?.discoveredGateways?.map(({ podName, syncedCommit }) => [podName, syncedCommit]),
      ['a', 'b', 'c'].map((pod) => [pod, commit]),
    );
    const table = await kubectl('get', 'gsync', name, '--namespace', namespace);
    assert.match(table, /app-\d+\s+main\s+3\/3 synced\s+True\s+Synced/);
  });

  test('ignores a report that another pod of that name left', async (t) => {
    const { address, commit } = await arrange(t);
    const { namespace, name } = address;
    await apply(injectedPod(namespace, 'gateway-0', name));
    await report({ namespace, name: 'gateway-0', ownerUID: outsiderUID() }, { commit });
    const { status } = await untilStatus(address, { gateways: { total: 1 } });
    assert.equal(status?.discoveredGateways?.[0]?.syncStatus, 'Pending');
  });

  test('drops pods that are gone', async (t) => {
    const { address } = await arrange(t);
    await apply(injectedPod(address.namespace, 'short', address.name));
    await untilStatus(address, { gateways: { total: 1 } });
    await kubectl('delete', 'pod', 'short', '--namespace', address.namespace, '--grace-period=0', '--force');
    const { status } = await untilStatus(address, { gateways: { total: 0 } });
    assert.deepEqual(status?.discoveredGateways, []);
  });
});

suite('the RoleBinding of the agents', { concurrency: 4 }, () => {
  test('follows the service accounts of the pods, and is repaired', async (t) => {
    const { address } = await arrange(t);
    const { namespace, name } = address;
    for (const account of ['blue', 'green']) {
      await kubectl('create', 'serviceaccount', account, '--namespace', namespace);
      await apply(injectedPod(namespace, `pod-${account}`, name, account));
    }
    const binding = await untilSubjects(address, ['blue', 'green']);
    assert.equal(binding.roleRef.name, 'sync-agent');
    assert.deepEqual(
      binding.metadata.ownerReferences.map((owner) => `${owner.kind}/${owner.name}`),
      [`GatewaySync/${name}`, 'Pod/pod-blue', 'Pod/pod-green'],
    );
    const named = ['rolebinding', `sync-agent-${name}`, '--namespace', namespace];
    await kubectl('delete', ...named);
    await untilSubjects(address, ['blue', 'green']);
    await kubectl('patch', ...named, '--type=merge', '--patch', '{"subjects":[]}');
    await untilSubjects(address, ['blue', 'green']);
    await kubectl('delete', 'pod', 'pod-blue', '--namespace', namespace, '--grace-period=0', '--force');
    await untilSubjects(address, ['green']);
  });

  test('shows in a condition and an event if it is denied, blocks no status, and is retried', slow, async (t) => {
    const { repository, commit } = await serveRepository(t);
    const address = { namespace: await createNamespace(t), name: 'app' };
    const { namespace } = address;
    await apply(injectedPod(namespace, 'pod', address.name));
    await startController(t, namespace, { KUBECONFIG: await accountWith(namespace, look) });
    await applyGatewaySync(address, { repo: repository.url });
    await untilCommit(address, commit);
    const denied = await untilCondition(address, 'AgentAccess', 'False');
    assert.equal(denied.status?.gateways?.total, 1);
    assert.equal(condition(denied, 'AgentAccess')?.reason, 'RoleBindingNotWritten');
    assert.match(condition(denied, 'AgentAccess')?.message ?? '', /rolebindings.* is forbidden/);
    assert.equal(condition(denied, 'Ready')?.reason, 'RoleBindingNotWritten');
    const reasons = () =>
      kubectl('get', 'events.events.k8s.io', '--namespace', namespace, '--output', 'jsonpath={.items[*].reason}');
    await until(reasons, { describe: 'an event', accept: (text) => text.split(' ').includes('RoleBindingNotWritten') });
    await accountWith(namespace, look, ...bind);
    await untilSubjects(address, ['default']);
    await untilCondition(address, 'AgentAccess', 'True');
  });

  test('stays unchanged and is reported if it belongs to another owner', slow, async (t) => {
    const { address } = await arrange(t);
    const { namespace, name } = address;
    const named = ['rolebinding', `sync-agent-${name}`, '--namespace', namespace];
    await kubectl('create', ...named, '--clusterrole=view', '--serviceaccount=default:somebody');
    const read = () => kubectl('get', ...named, '--output', 'jsonpath={.metadata.resourceVersion}');
    const before = await read();
    await apply(injectedPod(namespace, 'pod', name));
    const reported = await untilCondition(address, 'AgentAccess', 'False');
    assert.equal(condition(reported, 'AgentAccess')?.reason, 'ForeignRoleBinding');
    assert.equal(await read(), before);
    await kubectl('delete', ...named);
    await untilSubjects(address, ['default']);
    await untilCondition(address, 'AgentAccess', 'True');
  });

  test('is left to other tools if configured, without permission for RoleBindings', slow, async (t) => {
    const { repository } = await serveRepository(t);
    const address = { namespace: await createNamespace(t), name: 'app' };
    const KUBECONFIG = await accountWith(address.namespace);
    await startController(t, address.namespace, { AUTO_BIND_AGENT: 'false', KUBECONFIG });
    await applyGatewaySync(address, { repo: repository.url });
    await apply(injectedPod(address.namespace, 'pod', address.name));
    await untilStatus(address, { gateways: { total: 1 } });
    await assert.rejects(readRoleBinding(address), /NotFound/);
  });
});

/** Permissions to read RoleBindings, and to write them. */
const look = { apiGroups: ['rbac.authorization.k8s.io'], resources: ['rolebindings'], verbs: ['get', 'list', 'watch'] };
const bind = [
  { ...look, verbs: ['create', 'patch', 'delete'] },
  { ...look, resources: ['clusterroles'], resourceNames: ['sync-agent'], verbs: ['bind'] },
];

/**
 * Returns a kubeconfig of an account with the controller's permissions in a namespace, except for those to bind agents,
 * and more.
 */
async function accountWith(namespace: string, ...more: object[]): Promise<string> {
  const rules = [
    ...more,
    { apiGroups: ['sync.io'], resources: ['*'], verbs: ['*'] },
    { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list', 'watch'] },
    { apiGroups: [''], resources: ['events'], verbs: ['create'] },
  ];
  const name = 'controller';
  const metadata = { name, namespace };
  const apiVersion = 'rbac.authorization.k8s.io/v1';
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name };
  await apply([
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
    { apiVersion, kind: 'Role', metadata, rules },
    { ...roleBinding(metadata, name, [name]), roleRef },
  ]);
  return await (await connectCluster()).kubeconfigFor({ namespace, serviceAccount: name });
}
