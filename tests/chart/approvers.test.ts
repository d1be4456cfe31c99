import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ROLLOUT_ANNOTATIONS, setByAnnotation } from '../../shared/api/names.ts';
import { gatewaySyncPath, groupPath } from '../../shared/io/kubernetes/resource-path.ts';
import { apply } from '../support/cluster.ts';
import { gatewaySync } from '../support/gateway-syncs.ts';
import { roleBinding } from '../support/role-binding.ts';
import { until } from '../support/until.ts';
import { clientFor, connectAdministrator } from './support/client-for.ts';
import { installRights } from './support/install-rights.ts';
import { pick, type Rendered, render } from './support/render.ts';

const commit = 'a'.repeat(40);
const waves = [
  { name: 'canary', gateways: 1 },
  { name: 'others', approval: true },
];

/** Answers of the API server to changes, which aren't stored. */
interface User {
  patch: (body: object) => Promise<string>;
  create: (body: object) => Promise<string>;
}

/** A namespace with a GatewaySync and two users: both can edit it, and one can approve as well. */
const namespace = await installRights({ after }, { values: { rollout: { approverRole: { enabled: true } } } });
const approverName = `system:serviceaccount:${namespace}:approver`;
const site = (name: string, annotations = {}) => ({
  ...gatewaySync({ namespace, name }, { repo: 'https://git.test/site.git' }, { rollout: { waves } }),
  metadata: { namespace, name, annotations },
});
const account = (name: string) => ({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { namespace, name } });
await apply([
  site('site'),
  ...[account('editor'), account('approver')],
  // Not the role of Kubernetes: other tests install the chart, and its defaults add the permissions of approvers to `edit`.
  roleBinding({ namespace, name: 'edit' }, `${namespace}-edit`, ['editor', 'approver']),
  roleBinding({ namespace, name: 'approve' }, `${namespace}-approvers`, ['approver']),
]);
const actAs = async (serviceAccount: string): Promise<User> => {
  const client = await clientFor({ namespace, serviceAccount });
  const dryRun = { query: { dryRun: 'All' } };
  const answer = (call: Promise<unknown>) => call.then(() => 'accepted', String);
  return {
    patch: (body: object) => answer(client.mergePatch(gatewaySyncPath(namespace, 'site'), body, dryRun)),
    create: (body: object) =>
      answer(client.create(groupPath('sync.io/v1alpha1', 'gatewaysyncs', namespace), body, dryRun)),
  };
};
const editor = await actAs('editor');
const approver = await actAs('approver');
const retry = { metadata: { annotations: { [ROLLOUT_ANNOTATIONS.retry]: commit } } };
await until(() => editor.patch(retry), {
  describe: 'the policy to refuse who may only edit',
  accept: (answer) => /requires the verb approve/.test(answer),
});
await until(() => approver.patch(retry), {
  describe: 'the approver to be let through',
  accept: (answer) => answer === 'accepted',
});

async function storeAsAdministrator(annotations: object): Promise<void> {
  const administrator = await connectAdministrator();
  await administrator.mergePatch(gatewaySyncPath(namespace, 'site'), { metadata: { annotations } });
}

async function administratorName(): Promise<string> {
  const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  const path = groupPath('authentication.k8s.io/v1', 'selfsubjectreviews');
  const { status } = await (await connectAdministrator()).create<Rendered>(path, review);
  return status.userInfo.username;
}

test("with the approver role, a user who can only edit can't control a rollout", async () => {
  for (const annotation of Object.values(ROLLOUT_ANNOTATIONS)) {
    const order = { metadata: { annotations: { [annotation]: commit } } };
    assert.match(await editor.patch(order), new RegExp(`changing ${annotation} requires the verb approve`));
    assert.equal(await approver.patch(order), 'accepted');
    assert.match(await editor.create(site('another', { [annotation]: commit })), /requires the verb approve/);
    assert.equal(await approver.create(site('another', { [annotation]: commit })), 'accepted');
  }
  for (const rollout of [null, { waves: [] }, { waves: [{ name: 'all' }, ...waves] }]) {
    assert.match(await editor.patch({ spec: { rollout } }), /changing waves with approval/);
    assert.equal(await approver.patch({ spec: { rollout } }), 'accepted');
  }
  const others = [
    { spec: { git: { ref: 'next' } } },
    { spec: { rollout: { windows: [{ kind: 'Deny' }] } } },
    { metadata: { annotations: { 'example.test/note': 'x' } } },
  ];
  for (const change of others) assert.equal(await editor.patch(change), 'accepted', JSON.stringify(change));
  assert.equal(await editor.create(site('another')), 'accepted');
});

test("an approver can't name another user", async () => {
  const annotate = (annotations: object) => approver.patch({ metadata: { annotations } });
  for (const order of Object.values(ROLLOUT_ANNOTATIONS)) {
    assert.equal(await annotate({ [order]: commit, [setByAnnotation(order)]: approverName }), 'accepted');
    const answer = await annotate({ [order]: commit, [setByAnnotation(order)]: 'anna' });
    assert.match(answer, new RegExp(`${setByAnnotation(order)} can be set only .* only to ${approverName}`));
  }
});

test("an approver can't take over the rollback of another user", async () => {
  const { rollback } = ROLLOUT_ANNOTATIONS;
  const by = setByAnnotation(rollback);
  const annotate = (annotations: object) => approver.patch({ metadata: { annotations } });
  await storeAsAdministrator({ [rollback]: commit });
  assert.match(await annotate({ [by]: approverName }), /can be set only together with the annotation/);
  await storeAsAdministrator({ [rollback]: null });
  await storeAsAdministrator({ [rollback]: commit, [by]: await administratorName() });
  assert.match(await annotate({ [rollback]: 'b'.repeat(40) }), /can be set only together with the annotation/);
  assert.equal(await annotate({ [rollback]: 'b'.repeat(40), [by]: approverName }), 'accepted');
  for (const change of [{ [by]: null }, { [rollback]: null }, { [rollback]: 'b'.repeat(40), [by]: null }])
    assert.equal(await annotate(change), 'accepted', JSON.stringify(change));
});

test('a backup with the names of users is restored by a user who can impersonate them', async () => {
  const { rollback } = ROLLOUT_ANNOTATIONS;
  const administrator = await connectAdministrator();
  const resources = groupPath('sync.io/v1alpha1', 'gatewaysyncs', namespace);
  const orderedBy = (name: string, by: string) => site(name, { [rollback]: commit, [setByAnnotation(rollback)]: by });
  await storeAsAdministrator({ [rollback]: null, [setByAnnotation(rollback)]: null });
  await administrator.create(resources, orderedBy('restored', approverName));
  await administrator.mergePatch(gatewaySyncPath(namespace, 'site'), orderedBy('site', 'anna'));
  assert.match(await approver.create(orderedBy('another', 'anna')), /can be set only together with the annotation/);
});

test('the role `admin` includes the approver role, and by default, `edit` also does', async () => {
  const rolesWith = async (enabled: boolean) => {
    const objects = await render({ rollout: { approverRole: { enabled } } });
    const { labels = {} } = pick(objects, 'ClusterRole', '-approvers').metadata;
    return Object.keys(labels).flatMap((label) => /\/aggregate-to-(.+)/.exec(label)?.[1] ?? []);
  };
  assert.deepEqual(await rolesWith(false), ['admin', 'edit']);
  assert.deepEqual(await rolesWith(true), ['admin']);
});
