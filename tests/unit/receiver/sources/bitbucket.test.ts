import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { readBitbucketEvent } from '../../../../receiver/sources/bitbucket.ts';
import type { Delivery, NothingReason } from '../../../../receiver/sources/delivery.ts';
import type { JsonObject } from '../../../../receiver/sources/json-object.ts';

const source = 'bitbucket';
const ignored = (reason: NothingReason): Delivery => ({ kind: 'nothing', reason, source });
const request = (ref: string, fields: { pushedRef?: string } = {}): Delivery => ({
  kind: 'request',
  ref,
  source,
  ...fields,
});
const invalid = (error: string): Delivery => ({ kind: 'invalid', reason: 'InvalidPayload', error, source });
const push = (ref: string): Delivery => ({ kind: 'push', ref, source });

/** As in https://support.atlassian.com/bitbucket-cloud/docs/event-payloads/#Push. */
const cloud = (...changes: unknown[]) => ({ push: { changes } });
const changed = (type: string, name: unknown, date = '2015-06-09T03:34:49+00:00') => ({
  new: { type, name, target: { type: 'commit', hash: '709d658dc5b6d6afcd46049c2f332ee3f515a67d', date } },
  old: null,
  created: true,
  closed: false,
});
const closed = (type: string, name: string) => ({ new: null, old: { type, name }, closed: true });

/** As in https://confluence.atlassian.com/bitbucketserver/event-payload-938025882.html. */
const dataCenter = (...changes: unknown[]) => ({ eventKey: 'repo:refs_changed', changes });
const mirrored = (...changes: unknown[]) => ({ ...dataCenter(...changes), eventKey: 'mirror:repo_synchronized' });
const date = '2017-09-19T09:58:11+1000';
const madeAt = Date.parse('2017-09-18T23:58:11Z');
const refChange = (id: string, type = 'UPDATE') => ({
  ref: { id, displayId: id.replace(/^refs\/\w+\//, ''), type: id.startsWith('refs/tags/') ? 'TAG' : 'BRANCH' },
  refId: id,
  fromHash: 'f09c8889a2d234985734958795a31589cd91ffda',
  toHash: '22671f0349857934857983457983475ec39f196b',
  type,
});

const older = '2015-06-01T00:00:00+00:00';
const newer = '2015-07-01T00:00:00+00:00';

const cases: [string, string, JsonObject, Delivery][] = [
  ['a push', 'repo:push', cloud(changed('branch', 'main')), push('refs/heads/main')],
  ['a pushed tag', 'repo:push', cloud(changed('tag', 'v1')), request('refs/tags/v1')],
  ['a deleted branch', 'repo:push', cloud(closed('branch', 'old')), ignored('Deleted')],
  ['a deleted tag', 'repo:push', cloud(closed('tag', 'v1')), ignored('Deleted')],
  [
    'a branch and a tag',
    'repo:push',
    cloud(changed('branch', 'main'), changed('tag', 'v1')),
    request('refs/tags/v1', { pushedRef: 'refs/heads/main' }),
  ],
  [
    'the newest of several tags',
    'repo:push',
    cloud(changed('tag', 'v1', older), changed('tag', 'v3', newer), changed('tag', 'v2')),
    request('refs/tags/v3'),
  ],
  [
    'the highest version of several tags of one commit',
    'repo:push',
    cloud(changed('tag', 'v1.0.0'), changed('tag', 'v2.0.0'), changed('tag', 'v3.0.0', older)),
    request('refs/tags/v2.0.0'),
  ],
  ['a Mercurial bookmark', 'repo:push', cloud(changed('bookmark', 'x')), ignored('NotABranchOrTag')],
  ['a push without changes', 'repo:push', cloud(), ignored('NoRef')],
  [
    "a push whose changes aren't a list",
    'repo:push',
    { push: { changes: { 0: changed('tag', 'v1') } } },
    invalid('push.changes: Array is expected'),
  ],
  ['empty changes', 'repo:push', cloud([], {}, { new: {} }), ignored('NoRef')],
  [
    'an invalid name next to a valid one',
    'repo:push',
    cloud(changed('tag', 'a b', newer), changed('tag', 'v1')),
    request('refs/tags/v1'),
  ],
  ['a pull request', 'pullrequest:created', { pullrequest: {} }, ignored('EventIgnored')],
  [
    'a push to a data center',
    'repo:refs_changed',
    dataCenter(refChange('refs/heads/master')),
    push('refs/heads/master'),
  ],
  [
    'a tag deleted in a data center',
    'repo:refs_changed',
    dataCenter(refChange('refs/tags/v1', 'DELETE')),
    ignored('Deleted'),
  ],
  [
    'the newest of several tags in a data center',
    'repo:refs_changed',
    dataCenter(
      ...[1, 3, 2].map((time) => ({ ...refChange(`refs/tags/v${time}`), toCommit: { committerTimestamp: time } })),
    ),
    request('refs/tags/v3'),
  ],
  [
    'a change in a data center with different refs in both places',
    'repo:refs_changed',
    dataCenter({ ref: { id: 'refs/heads/new' }, refId: 'refs/heads/old', type: 'UPDATE' }),
    push('refs/heads/new'),
  ],
  ['a change in a data center without a ref', 'repo:refs_changed', dataCenter({ type: 'UPDATE' }), ignored('NoRef')],
  ['a branch without a name', 'repo:push', cloud(changed('branch', null)), ignored('NoRef')],
  [
    'the newest of several annotated tags, by their own time,',
    'repo:push',
    cloud(
      { ...changed('tag', 'v1'), new: { ...changed('tag', 'v1', newer).new, date: older } },
      { ...changed('tag', 'v2'), new: { ...changed('tag', 'v2', older).new, date: newer } },
    ),
    request('refs/tags/v2'),
  ],
  [
    'a push to a data center, with its time,',
    'repo:refs_changed',
    { ...dataCenter(refChange('refs/tags/v1'), refChange('refs/heads/main')), date },
    { kind: 'request', ref: 'refs/tags/v1', pushedRef: 'refs/heads/main', source, madeAt },
  ],
  [
    'a synchronized mirror',
    'mirror:repo_synchronized',
    { ...mirrored(refChange('refs/heads/main')), date, syncType: 'incremental', refLimitExceeded: false },
    { kind: 'push', ref: 'refs/heads/main', source, madeAt },
  ],
  ['a mirror with too many changes', 'mirror:repo_synchronized', { ...mirrored(), changes: null }, ignored('NoRef')],
  [
    'an event with the header of another one',
    'repo:refs_changed',
    mirrored(refChange('refs/tags/v1')),
    ignored('OtherEvent'),
  ],
  ['a connection test', 'diagnostics:ping', { test: true }, ignored('Ping')],
  ['a comment', 'repo:comment:added', { comment: {} }, ignored('EventIgnored')],
];

suite('Bitbucket events', () => {
  for (const [name, event, body, expected] of cases) {
    test(`${name} gives "${expected.kind}"`, () =>
      assert.deepEqual(readBitbucketEvent({ 'x-event-key': event }, body), expected));
  }

  test('are invalid if their only ref is invalid', () => {
    for (const name of ['-x/..', 'a b', 42, {}]) {
      assert.equal(readBitbucketEvent({ 'x-event-key': 'repo:push' }, cloud(changed('tag', name)))?.kind, 'invalid');
    }
  });

  test('are recognized only by their header', () => {
    assert.equal(readBitbucketEvent({}, cloud(changed('tag', 'v1'))), undefined);
    assert.equal(readBitbucketEvent({ 'x-event-key': '' }, cloud(changed('tag', 'v1'))), undefined);
  });
});
