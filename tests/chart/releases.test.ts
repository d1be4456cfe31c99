import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { BOUNDS } from '../../shared/api/bounds.ts';
import { gatewaySyncPath, groupPath } from '../../shared/io/kubernetes/resource-path.ts';
import { kubectl } from '../support/cluster.ts';
import { applyGatewaySync } from '../support/gateway-syncs.ts';
import { until } from '../support/until.ts';
import { connectAdministrator } from './support/client-for.ts';
import { installRights } from './support/install-rights.ts';
import { answerTo, createReleaseUsers, releasePath, syncRelease } from './support/release-users.ts';
import type { Rendered } from './support/render.ts';

const namespace = await installRights({ after }, { values: { rollout: { approverRole: { enabled: true } } } });
const { editor, gateway, approver, controller, velero } = await createReleaseUsers({ after }, namespace);
const administrator = await connectAdministrator();
const releases = groupPath('sync.io/v1alpha1', 'syncreleases', namespace);
const dryRun = { query: { dryRun: 'All' } };
const changes = 'a'.repeat(32);
const approvalBy = (by: string) => ({ changes, by, at: '2026-03-01T10:00:00Z' });
await applyGatewaySync({ namespace, name: 'site' }, { repo: 'https://git.test/site.git' });
await until(() => velero.client.getAs(releases), { describe: 'the permissions of velero' });

/** Stores a release as a restored backup. */
async function store(number: number, approvals?: object[]): Promise<Rendered> {
  return await velero.client.create<Rendered>(releases, syncRelease(namespace, number, { approvals }));
}

test('the controller can create releases that are named after a GatewaySync, and change only their labels and status', async () => {
  const { client } = controller;
  const path = releasePath(namespace, 1);
  const stored = syncRelease(namespace, 1) as Rendered;
  const create = (number: number, metadata: object = {}) =>
    answerTo(client.create(releases, syncRelease(namespace, number, { metadata }), dryRun), stored);
  const patch = (metadata: object) => answerTo(client.mergePatch(path, { metadata }, dryRun), stored);
  const { metadata: resource } = await administrator.getAs<Rendered>(gatewaySyncPath(namespace, 'site'));
  const owner = { apiVersion: 'sync.io/v1alpha1', kind: 'GatewaySync', name: 'site', uid: resource.uid };
  const finalizers = ['example.test/hold'];

  await until(() => create(1, { name: 'site-2' }), {
    describe: 'the policy to take effect',
    accept: (answer) => answer === 'NotByController',
  });
  for (const name of ['site-01', 'site-11', 'site', 'other-1'])
    assert.equal(await create(1, { name }), 'NotByController');
  for (const labels of [{}, { 'sync.io/cr-name': 'other' }])
    assert.equal(await create(1, { labels }), 'NotByController');
  assert.equal(await create(1, { ownerReferences: [owner] }), 'NotByController');
  assert.equal(await create(1, { finalizers }), 'NotByController');

  await client.create(releases, syncRelease(namespace, 1));
  await client.mergePatch(path, { metadata: { labels: { 'sync.io/release': 'Complete' } } });
  await client.mergePatch(`${path}/status`, { status: { phase: 'Complete' } });
  const { metadata, status } = await client.getAs<Rendered>(path);
  assert.deepEqual([metadata.labels?.['sync.io/release'], status], ['Complete', { phase: 'Complete' }]);
  // Other clients can add metadata, and the controller keeps it.
  await administrator.mergePatch(path, { metadata: { annotations: { a: 'b' }, finalizers } });
  await client.mergePatch(path, { metadata: { labels: { 'sync.io/release': null } } });
  await client.mergePatch(`${path}/status`, { status: { phase: 'Superseded' } });
  assert.equal(await patch({ finalizers: null }), 'NotByController');
  await administrator.mergePatch(path, { metadata: { finalizers: null } });
  await client.delete(path);
  await assert.rejects(client.getAs(path), { status: 404 });
});

test('a release never changes, even for an administrator, and even below the fields of spec.sync', async () => {
  const stored = await store(5);
  const path = releasePath(namespace, 5);
  const { sources } = stored.spec;
  const mappings = [{ source: 'config', destination: 'config' }];
  const profile = (fields: object) => ({ sync: { profiles: { default: fields } } });
  for (const spec of [
    { number: 6 },
    { sources: [{ ...sources[0], commit: 'b'.repeat(40) }] },
    { sources: [...sources, { ...sources[0], name: 'other' }] },
    profile({ mappings: [{ source: 'config', destination: 'evil' }] }),
    profile({ mappings: [...mappings, ...mappings] }),
    profile({ mappings: null }),
    profile({ syncPeriod: 5 }),
    { sync: { profiles: { other: { mappings } } } },
    { sync: { defaults: {} } },
    { sync: { profiles: null } },
    { sync: null },
    null,
  ]) {
    const answer = await answerTo(administrator.mergePatch(path, { spec }), stored);
    assert.equal(answer, 'Invalid', JSON.stringify(spec));
  }
  await administrator.mergePatch(path, { metadata: { labels: { 'sync.io/release': 'Complete' } } });
  assert.deepEqual((await administrator.getAs<Rendered>(path)).spec, stored.spec);
});

test('editors and gateways can read a release, and not delete all of them', async () => {
  const stored = await store(7);
  for (const { client } of [editor, gateway]) {
    await until(() => client.getAs(releasePath(namespace, 7)), { describe: 'the permissions of the user' });
    assert.equal(await answerTo(client.delete(releases), stored), 'Permission');
  }
  assert.equal(await answerTo(gateway.client.getAs(releases), stored), 'Permission');
});

test('an approval is stored after the earlier ones, and kubectl shows the last approver', async () => {
  const path = releasePath(namespace, 8);
  const { approvals } = await store(8, [approvalBy('anna')]);
  const own = { ...approvalBy(approver.name), wave: 'west' };
  await until(() => approver.client.mergePatch(path, { approvals: [...approvals, own] }), {
    describe: 'the permissions of the approver',
  });
  assert.deepEqual((await administrator.getAs<Rendered>(path)).approvals, [approvalBy('anna'), own]);
  await store(11);
  const table = await kubectl('get', 'syncreleases', 'site-8', 'site-11', '-n', namespace);
  const [heading = '', ...rows] = table.trim().split('\n');
  const approvers = rows.map((row) => row.slice(heading.indexOf('APPROVED BY')).split(' ')[0]);
  assert.deepEqual(approvers, [approver.name, '']);
});

test('an approval is refused if the release has changed since it was read', async () => {
  const { approvals, metadata } = await store(9, [approvalBy('anna')]);
  const path = releasePath(namespace, 9);
  const { resourceVersion } = metadata as { resourceVersion?: string };
  await controller.client.mergePatch(path, { metadata: { labels: { 'sync.io/release': 'Complete' } } });
  const body = { metadata: { resourceVersion }, approvals: [...approvals, approvalBy(approver.name)] };
  await assert.rejects(approver.client.mergePatch(path, body), { status: 409 });
});

test('the longest list of approvals can be restored and kept, within the cost limits of the API server', async () => {
  const path = releasePath(namespace, 10);
  const longest = Array.from({ length: BOUNDS.approvals }, (_, index) => ({
    ...approvalBy(String(index).padEnd(BOUNDS.userName, 'x')),
    wave: 'w'.repeat(63),
  }));
  const stored = await store(10, longest);
  assert.deepEqual(stored.approvals, longest);
  const labels = { 'sync.io/release': 'Complete' };
  await controller.client.mergePatch(path, { metadata: { labels } });
  const { client, name } = approver;
  const added = client.mergePatch<Rendered>(path, { approvals: [...longest, approvalBy(name)] });
  assert.equal(await answerTo(added, stored), 'Invalid');
  await administrator.mergePatch(path, { approvals: longest.toReversed() });
  const { metadata, approvals } = await administrator.getAs<Rendered>(path);
  assert.deepEqual([metadata.labels?.['sync.io/release'], approvals], ['Complete', longest.toReversed()]);
});
