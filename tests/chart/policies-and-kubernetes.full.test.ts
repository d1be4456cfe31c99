import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { suite, type TestContext, test } from 'node:test';
import { groupPath } from '../../shared/io/kubernetes/resource-path.ts';
import { apply, createNamespace, kubectl } from '../support/cluster.ts';
import { clusterRoleBinding, roleBinding } from '../support/role-binding.ts';
import { until } from '../support/until.ts';
import { clientFor } from './support/client-for.ts';
import { installRights } from './support/install-rights.ts';
import { answerTo, releasePath, syncRelease } from './support/release-users.ts';
import type { Rendered } from './support/render.ts';

interface World {
  namespace: string;
  /** Writes the report of a pod, as its agent does. */
  report: (pod: string) => Promise<void>;
  get: (what: string) => Promise<{ metadata: { ownerReferences?: { uid: string }[]; annotations?: object } }>;
}

/** A namespace in which the chart's policies are in force, with the pod `g1` and its report. */
async function arrange(t: TestContext, given?: string): Promise<World> {
  const namespace = await installRights(t, given === undefined ? {} : { namespace: given });
  await apply([
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'g1', namespace },
      spec: { containers: [{ name: 'gateway', image: 'gateway:1' }], terminationGracePeriodSeconds: 0 },
    },
    roleBinding({ namespace, name: 'sync-agent-site' }, 'sync-agent'),
  ]);
  const get = async (what: string) => JSON.parse(await kubectl('get', what, '-n', namespace, '--output=json'));
  const reports = groupPath('sync.io/v1alpha1', 'syncreports', namespace);
  const report = async (pod: string) => {
    const { uid } = (await get(`pod/${pod}`)).metadata;
    const agent = await clientFor({ namespace, serviceAccount: 'default', pod });
    const owner = { apiVersion: 'v1', kind: 'Pod', name: pod, uid };
    const body = (name: string) => ({
      apiVersion: 'sync.io/v1alpha1',
      kind: 'SyncReport',
      metadata: { name, namespace, ownerReferences: [owner] },
      status: { state: 'Synced', podUID: uid },
    });
    const tryForeign = () => agent.create(reports, body('foreign'), { query: { dryRun: 'All' } });
    const refusal = () => tryForeign().then(() => 'accepted', String);
    await until(refusal, {
      describe: 'the policy to hold agents',
      accept: (text) => /only the report of its own pod/.test(text),
    });
    await agent.create(reports, body(pod));
  };
  await report('g1');
  return { namespace, report, get };
}

const approval = { changes: 'none', by: 'anna', at: '2026-03-01T10:00:00Z' };

/** The garbage collector hears of kinds that were added to the API server some 30 s later. */
async function untilReportsAreCollected(namespace: string): Promise<void> {
  const owner = { apiVersion: 'v1', kind: 'Pod', name: 'nobody', uid: randomUUID() };
  const metadata = { name: 'nobody', namespace, ownerReferences: [owner] };
  await apply({ apiVersion: 'sync.io/v1alpha1', kind: 'SyncReport', metadata, status: { state: 'Synced' } });
  await untilGone('syncreport/nobody', namespace);
}

async function untilGone(what: string, namespace: string): Promise<void> {
  const found = () => kubectl('get', what, '-n', namespace, '--ignore-not-found', '--output=name');
  await until(found, { describe: `${what} to go`, accept: (text) => text === '' });
}

suite("the chart's policies", { concurrency: 4 }, () => {
  test('let a user delete a pod, and its report is orphaned', async (t) => {
    const { namespace, get } = await arrange(t);
    await untilReportsAreCollected(namespace);
    await kubectl('delete', 'pod/g1', '-n', namespace, '--cascade=orphan', '--wait=false');
    await untilGone('pod/g1', namespace);
    assert.equal((await get('syncreport/g1')).metadata.ownerReferences, undefined);
  });

  test('let a user delete a namespace', async (t) => {
    const namespace = `test-${randomUUID().slice(0, 8)}`;
    await kubectl('create', 'namespace', namespace);
    await arrange(t, namespace);
    await apply(syncRelease(namespace, 1, { approvals: [approval] }));
    await kubectl('delete', 'namespace', namespace, '--wait=false');
    await untilGone(`namespace/${namespace}`, namespace);
  });

  test('let the controller delete an approved release in the foreground', async (t) => {
    const { namespace } = await arrange(t);
    const client = await clientFor({ namespace, serviceAccount: namespace });
    const release = syncRelease(namespace, 1, { approvals: [approval] });
    await apply(release);
    const rename = () =>
      client.mergePatch<Rendered>(releasePath(namespace, 1), { metadata: { labels: { 'sync.io/cr-name': 'other' } } });
    await until(() => answerTo(rename(), release as Rendered), {
      describe: 'the policy on releases to take effect',
      accept: (answer) => answer === 'NotByController',
    });
    await client.delete(releasePath(namespace, 1), { query: { propagationPolicy: 'Foreground' } });
    await untilGone('syncrelease/site-1', namespace);
  });

  test('let a service account with all permissions restore a backup', async (t) => {
    const { namespace, get } = await arrange(t);
    const operator = await createNamespace(t);
    const name = `restore-${operator}`;
    const account = { name: 'velero', namespace: operator };
    await apply([
      { apiVersion: 'v1', kind: 'ServiceAccount', metadata: account },
      clusterRoleBinding(name, 'cluster-admin', account),
    ]);
    t.after(() => kubectl('delete', 'clusterrolebinding', name));
    const velero = await clientFor({ namespace: operator, serviceAccount: 'velero' });
    const reports = groupPath('sync.io/v1alpha1', 'syncreports', namespace);
    const restored = {
      apiVersion: 'sync.io/v1alpha1',
      kind: 'SyncReport',
      metadata: { name: 'g2', namespace, labels: { 'velero.io/restore-name': 'r' } },
      status: { state: 'Synced', podUID: 'of-another-cluster' },
    };
    await until(() => velero.create(reports, restored), { describe: 'the rights of velero' });
    await velero.mergePatch(`${reports}/g1`, { metadata: { annotations: { 'example.test/migrated': 'yes' } } });
    assert.deepEqual((await get('syncreport/g1')).metadata.annotations, { 'example.test/migrated': 'yes' });
  });

  test('let Kubernetes migrate stored versions with an account that can patch everything, but delete nothing', async (t) => {
    const { namespace, get } = await arrange(t);
    const name = `migrate-${namespace}`;
    const account = { name: 'storage-version-migrator-controller', namespace: 'kube-system' };
    await apply([
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRole',
        metadata: { name },
        rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['list', 'patch', 'get'] }],
      },
      clusterRoleBinding(name, name, account),
    ]);
    t.after(() => kubectl('delete', 'clusterrole', name, '--wait=false'));
    t.after(() => kubectl('delete', 'clusterrolebinding', name, '--wait=false'));
    await kubectl('create', 'serviceaccount', account.name, '-n', account.namespace).catch(() => {});
    const migrator = await clientFor({ namespace: account.namespace, serviceAccount: account.name });
    const reports = groupPath('sync.io/v1alpha1', 'syncreports', namespace);
    await until(() => migrator.mergePatch(`${reports}/g1`, { metadata: { annotations: { a: 'b' } } }), {
      describe: 'the rights of the migrator',
    });
    assert.deepEqual((await get('syncreport/g1')).metadata.annotations, { a: 'b' });
  });
});
