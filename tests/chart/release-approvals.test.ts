import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { apply } from '../support/cluster.ts';
import { until } from '../support/until.ts';
import { connectAdministrator } from './support/client-for.ts';
import { installRights } from './support/install-rights.ts';
import {
  type Answer,
  answerTo,
  createReleaseUsers,
  type ReleaseUser,
  releasePath,
  syncRelease,
} from './support/release-users.ts';
import type { Rendered } from './support/render.ts';

type Attempt = (user: ReleaseUser) => Promise<Rendered>;

/** Answers to the users who have some permission to change releases. */
interface Answers {
  approver: Answer;
  controller: Answer;
  operator: Answer;
  velero: Answer;
}

const namespace = await installRights({ after }, { values: { rollout: { approverRole: { enabled: true } } } });
const users = await createReleaseUsers({ after }, namespace);
const path = releasePath(namespace, 1);
const withoutApprovals = releasePath(namespace, 2);
const approvalBy = (by: string) => ({ wave: 'all', changes: 'a'.repeat(32), by, at: '2026-03-01T10:00:00Z' });
const anna = approvalBy('anna');
const approver = approvalBy(users.approver.name);
const stored = [anna, approver];
const own = ({ name }: ReleaseUser) => ({ ...approvalBy(name), changes: 'none' });
const MANAGER = 'anna';
await apply(
  [syncRelease(namespace, 1, { approvals: stored }), syncRelease(namespace, 2)],
  `--field-manager=${MANAGER}`,
);
const administrator = await connectAdministrator();
const before = await administrator.getAs<Rendered>(path);

/** Nothing is stored, so that each attempt finds the same release. */
const query = { dryRun: 'All' };
const merge =
  (body: object, target = path): Attempt =>
  ({ client }) =>
    client.mergePatch(target, body, { query });
const approve =
  (list: (user: ReleaseUser) => object[] | null, target = path): Attempt =>
  (user) =>
    merge({ approvals: list(user) }, target)(user);
const jsonPatch =
  (operation: (user: ReleaseUser) => object): Attempt =>
  (user) =>
    user.client.request({
      method: 'PATCH',
      path,
      query,
      body: [operation(user)],
      contentType: 'application/json-patch+json',
    });
const replace =
  (fields: (user: ReleaseUser) => object): Attempt =>
  (user) =>
    user.client.replace(path, { ...before, ...fields(user) }, { query });
const serverSideApply =
  (fields: (user: ReleaseUser) => object): Attempt =>
  (user) =>
    user.client.request({
      method: 'PATCH',
      path,
      query: { ...query, fieldManager: MANAGER, force: 'true' },
      body: syncRelease(namespace, 1, fields(user)),
      contentType: 'application/apply-patch+yaml',
    });
const create =
  (approvals: (user: ReleaseUser) => object[]): Attempt =>
  (user) =>
    user.client.create(
      path.slice(0, path.lastIndexOf('/')),
      syncRelease(namespace, 9, { approvals: approvals(user) }),
      { query },
    );

const forAll = (answer: Answer): Answers => ({
  approver: answer,
  controller: answer,
  operator: answer,
  velero: answer,
});
const invalid = forAll('Invalid');
const adding: Answers = { ...forAll('Changed'), controller: 'NotByController' };
const forging: Answers = { ...forAll('OnlyOwnApprovals'), controller: 'NotByController', velero: 'Changed' };
const moving: Answers = { ...forAll('Changed'), approver: 'RequiresDelete' };
/** Only `patch` is allowed. */
const patchers = { approver: 'Permission', controller: 'Permission' } as const;
const owner = { apiVersion: 'v1', kind: 'Pod', name: 'any', uid: 'any' };
const status = { phase: 'Complete' };

const ATTEMPTS: Record<string, [Attempt, Answers]> = {
  'adds their own approval': [approve((user) => [...stored, own(user)]), adding],
  'adds two of their own': [approve((user) => [...stored, own(user), { ...own(user), wave: 'other' }]), adding],
  'adds the first one': [approve((user) => [own(user)], withoutApprovals), adding],
  'adds their own with a JSON patch': [
    jsonPatch((user) => ({ op: 'add', path: '/approvals/-', value: own(user) })),
    adding,
  ],
  'adds their own with server-side apply': [serverSideApply((user) => ({ approvals: [...stored, own(user)] })), adding],
  'adds their own with an update': [
    replace((user) => ({ approvals: [...stored, own(user)] })),
    { ...adding, ...patchers },
  ],
  'adds one of another user': [approve(() => [...stored, approvalBy('bob')]), forging],
  'adds their own and one of another user': [approve((user) => [...stored, own(user), approvalBy('bob')]), forging],
  'adds a second one of a user who has approved': [approve(() => [...stored, { ...anna, changes: 'none' }]), forging],
  'adds one of another user with a JSON patch': [
    jsonPatch(() => ({ op: 'add', path: '/approvals/0', value: approvalBy('bob') })),
    forging,
  ],
  'adds one of another user with server-side apply': [
    serverSideApply(() => ({ approvals: [...stored, approvalBy('bob')] })),
    forging,
  ],
  'copies the approvals of another release': [approve(() => stored, withoutApprovals), forging],
  'adds one with an empty hash': [approve((user) => [...stored, { ...own(user), changes: '' }]), invalid],
  'adds more than the maximum': [
    approve((user) => [
      ...stored,
      ...Array.from({ length: 19 }, (_, wave) => ({ ...own(user), wave: `wave-${wave}` })),
    ]),
    invalid,
  ],
  'adds one to the status': [merge({ status: { ...status, approvals: [anna] } }), forAll('Unchanged')],

  'repeats the approval of another user': [approve(() => [...stored, anna]), invalid],
  'changes the order': [approve(() => stored.toReversed()), adding],

  'removes their own': [approve(() => [anna]), invalid],
  "removes another user's": [approve(() => [approver]), invalid],
  'removes all': [approve(() => []), invalid],
  'removes the field': [approve(() => null), invalid],
  'removes one with a JSON patch': [jsonPatch(() => ({ op: 'remove', path: '/approvals/0' })), invalid],
  'removes the field with a JSON patch': [jsonPatch(() => ({ op: 'remove', path: '/approvals' })), invalid],
  'removes the field with server-side apply': [serverSideApply(() => ({})), invalid],
  'removes the field with an update': [replace(() => ({ approvals: undefined })), { ...invalid, ...patchers }],
  'replaces one with their own': [approve((user) => [own(user), approver]), invalid],
  'replaces all with their own': [approve((user) => [own(user)]), invalid],
  'takes over the approval of another user': [
    jsonPatch(({ name }) => ({ op: 'replace', path: '/approvals/0/by', value: name })),
    invalid,
  ],
  "changes another user's `changes`": [
    jsonPatch(() => ({ op: 'replace', path: '/approvals/0/changes', value: 'none' })),
    invalid,
  ],
  "changes another user's wave": [jsonPatch(() => ({ op: 'remove', path: '/approvals/0/wave' })), invalid],
  "changes another user's time": [
    jsonPatch(() => ({ op: 'replace', path: '/approvals/0/at', value: '2026-03-02T10:00:00Z' })),
    invalid,
  ],

  'creates a release with their own': [create((user) => [own(user)]), { ...adding, approver: 'Permission' }],
  'creates a release with one of another user': [create(() => [anna]), { ...forging, approver: 'Permission' }],
  'sets the result': [merge({ metadata: { labels: { 'sync.io/release': 'Complete' } } }), moving],
  'moves it to another GatewaySync': [
    merge({ metadata: { labels: { 'sync.io/cr-name': 'other' } } }),
    { ...moving, controller: 'NotByController' },
  ],
  'sets an annotation': [
    merge({ metadata: { annotations: { a: 'b' } } }),
    { ...moving, controller: 'NotByController' },
  ],
  'sets a finalizer': [
    merge({ metadata: { finalizers: ['example.test/hold'] } }),
    { ...moving, controller: 'NotByController' },
  ],
  'sets an owner': [merge({ metadata: { ownerReferences: [owner] } }), { ...moving, controller: 'NotByController' }],
  'approves and sets the result': [
    (user) =>
      merge({ approvals: [...stored, own(user)], metadata: { labels: { 'sync.io/release': 'Complete' } } })(user),
    { ...moving, controller: 'NotByController' },
  ],
  'changes the commit': [
    jsonPatch(() => ({ op: 'replace', path: '/spec/sources/0/commit', value: 'b'.repeat(40) })),
    invalid,
  ],
  'changes spec.sync': [
    jsonPatch(() => ({ op: 'add', path: '/spec/sync/profiles/default/syncPeriod', value: 5 })),
    invalid,
  ],
  'sets the status without its subresource': [merge({ status }), forAll('Unchanged')],
  'sets the status': [merge({ status }, `${path}/status`), { ...forAll('Changed'), approver: 'Permission' }],
  'adds an approval through the status': [
    approve((user) => [...stored, own(user)], `${path}/status`),
    { ...forAll('Unchanged'), approver: 'Permission' },
  ],
  'changes labels through the status': [
    merge({ metadata: { labels: { 'sync.io/release': 'Complete' } } }, `${path}/status`),
    { ...forAll('Unchanged'), approver: 'Permission' },
  ],
  'changes nothing': [merge({}), forAll('Unchanged')],
  'deletes it': [({ client }) => client.delete(path, { query }), { ...forAll('Changed'), approver: 'Permission' }],
};

const [approveFirst] = ATTEMPTS['adds one of another user']!;
for (const user of [users.approver, users.operator]) {
  await until(() => answerTo(approveFirst(user), before), {
    describe: 'the policy to take effect',
    accept: (answer) => answer === 'OnlyOwnApprovals',
  });
}
await until(() => answerTo(approveFirst(users.velero), before), {
  describe: 'the permissions of velero',
  accept: (answer) => answer === 'Changed',
});

for (const [what, [attempt, expected]] of Object.entries(ATTEMPTS)) {
  test(`each user who ${what} gets the right answer`, async () => {
    const { editor, gateway, ...others } = users;
    for (const user of [editor, gateway]) assert.equal(await answerTo(attempt(user), before), 'Permission', user.name);
    const answers = Object.entries(others).map(async ([name, user]) => [name, await answerTo(attempt(user), before)]);
    assert.deepEqual(Object.fromEntries(await Promise.all(answers)), expected);
  });
}
