import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Classified, NothingReason } from '../../../../receiver/sources/delivery.ts';
import { readGitLabEvent } from '../../../../receiver/sources/gitlab.ts';
import type { JsonObject } from '../../../../receiver/sources/json-object.ts';

const source = 'gitlab' as const;
const commit = 'da1560886d4f094c3e6c9ef40349f7d38b5d27d7';
const nullCommit = '0'.repeat(40);

// Shapes as in https://docs.gitlab.com/user/project/integrations/webhook_events/.
const push = { object_kind: 'push', event_name: 'push', before: nullCommit, after: commit, ref: 'refs/heads/main' };
const tagPush = { object_kind: 'tag_push', event_name: 'tag_push', after: commit, ref: 'refs/tags/v1.0.0' };
const release = {
  object_kind: 'release',
  action: 'create',
  tag: 'v1.1',
  name: 'v1.1',
  created_at: '2020-11-02 12:55:12 UTC',
  released_at: '2020-11-02 12:55:12 UTC',
};
const madeAt = Date.parse('2020-11-02T12:55:12Z');
const ignored = (reason: NothingReason): Classified => ({ kind: 'nothing', reason, source });

const request = (ref: string) => ({ kind: 'request' as const, ref, source });
const pushed: Classified = { kind: 'push', ref: 'refs/heads/main', source };
const released = { ...request('v1.1'), madeAt };
const cases: [what: string, event: string, body: JsonObject, expected: Classified][] = [
  ['a push', 'Push Hook', push, pushed],
  ['a pushed tag', 'Tag Push Hook', tagPush, request('refs/tags/v1.0.0')],
  ['a pushed tag of a system hook', 'System Hook', tagPush, request('refs/tags/v1.0.0')],
  ['a kind in an older field', 'System Hook', { ...tagPush, object_kind: undefined }, request('refs/tags/v1.0.0')],
  ['the test of a tag push, which is a push,', 'Tag Push Hook', push, pushed],
  ['a deleted branch', 'Push Hook', { ...push, after: nullCommit, checkout_sha: null }, ignored('Deleted')],
  ['a merge request', 'Merge Request Hook', { object_kind: 'merge_request', ref: 'x' }, ignored('EventIgnored')],
  ['an event without a kind', 'Push Hook', { ref: 'refs/heads/main' }, ignored('EventIgnored')],
  ...(
    [
      ['a release', {}, released],
      ['an edited release', { action: 'update' }, ignored('NotPublished')],
      ['a deleted release', { action: 'delete' }, ignored('Deleted')],
      ['a release dated a minute after it was created', { released_at: '2020-11-02 12:56:12 UTC' }, released],
      ['one dated more than a minute later', { released_at: '2020-11-02 12:56:13 UTC' }, ignored('NotPublished')],
      ['a release whose date is an object', { created_at: { toString: 1 } }, request('v1.1')],
      ['a release without a tag', { tag: null }, ignored('NoRef')],
    ] as const
  ).map(([what, fields, expected]): (typeof cases)[number] => [
    what,
    'Release Hook',
    { ...release, ...fields },
    expected,
  ]),
];

suite('GitLab events', () => {
  for (const [name, event, body, expected] of cases) {
    test(`${name} gives "${expected.kind}"`, () =>
      assert.deepEqual(readGitLabEvent({ 'x-gitlab-event': event }, body), expected));
  }

  test('are invalid if their ref is invalid', () => {
    assert.equal(readGitLabEvent({ 'x-gitlab-event': 'Release Hook' }, { ...release, tag: '-x' })?.kind, 'invalid');
    assert.equal(readGitLabEvent({ 'x-gitlab-event': 'Push Hook' }, { ...push, ref: 42 })?.kind, 'invalid');
  });

  test('are recognized only by their header', () => {
    assert.equal(readGitLabEvent({}, push), undefined);
    assert.equal(readGitLabEvent({ 'x-gitlab-event': '' }, push), undefined);
  });
});
