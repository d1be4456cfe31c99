import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { readBitbucketEvent } from '../../../../receiver/sources/bitbucket.ts';
import type { Classified, NothingReason } from '../../../../receiver/sources/delivery.ts';
import type { JsonObject } from '../../../../receiver/sources/json-object.ts';

const source = 'bitbucket' as const;
const ignored = (reason: NothingReason): Classified => ({ kind: 'nothing', reason, source });
const request = (ref: string, fields: { pushedRef?: string } = {}) => ({
  kind: 'request' as const,
  ref,
  source,
  ...fields,
});
const invalid = (error: string): Classified => ({ kind: 'invalid', reason: 'InvalidPayload', error, source });
const push = (ref: string) => ({ kind: 'push' as const, ref, source });

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

const annotated = (name: string, time: string, commitTime: string) => {
  const change = changed('tag', name, commitTime);
  return { ...change, new: { ...change.new, date: time } };
};
const ofCloud: [what: string, changes: unknown[], expected: Classified][] = [
  ['a push', [changed('branch', 'main')], push('refs/heads/main')],
  ['a pushed tag', [changed('tag', 'v1')], request('refs/tags/v1')],
  ['a deleted branch', [closed('branch', 'old')], ignored('Deleted')],
  [
    'two refs',
    [changed('branch', 'main'), changed('tag', 'v1')],
    request('refs/tags/v1', { pushedRef: 'refs/heads/main' }),
  ],
  [
    'the newest tag',
    [changed('tag', 'v1', older), changed('tag', 'v3', newer), changed('tag', 'v2')],
    request('refs/tags/v3'),
  ],
  ['the newest annotated tag', [annotated('v1', older, newer), annotated('v2', newer, older)], request('refs/tags/v2')],
  [
    'the highest version of a commit',
    [changed('tag', 'v1.0.0'), changed('tag', 'v2.0.0')],
    request('refs/tags/v2.0.0'),
  ],
  [
    'an invalid name next to a valid one',
    [changed('tag', 'a b', newer), changed('tag', 'v1')],
    request('refs/tags/v1'),
  ],
  ['a Mercurial bookmark', [changed('bookmark', 'x')], ignored('NotABranchOrTag')],
  ['a push without changes', [], ignored('NoRef')],
  ['empty changes', [[], {}, { new: {} }], ignored('NoRef')],
  ['a branch without a name', [changed('branch', null)], ignored('NoRef')],
];

const timed = (time: number) => ({ ...refChange(`refs/tags/v${time}`), toCommit: { committerTimestamp: time } });
const twoPlaces = { ref: { id: 'refs/heads/new' }, refId: 'refs/heads/old', type: 'UPDATE' };
const ofDataCenter: [what: string, changes: unknown[], expected: Classified][] = [
  ['a push', [refChange('refs/heads/master')], push('refs/heads/master')],
  ['a deleted tag', [refChange('refs/tags/v1', 'DELETE')], ignored('Deleted')],
  ['the newest tag', [1, 3, 2].map(timed), request('refs/tags/v3')],
  ['different refs in both places', [twoPlaces], push('refs/heads/new')],
  ['a change without a ref', [{ type: 'UPDATE' }], ignored('NoRef')],
];

const both = dataCenter(refChange('refs/tags/v1'), refChange('refs/heads/main'));
const others: [what: string, event: string, body: JsonObject, expected: Classified][] = [
  ['a list that is none', 'repo:push', { push: { changes: { 0: 1 } } }, invalid('push.changes: Array is expected')],
  [
    'a time',
    'repo:refs_changed',
    { ...both, date },
    { ...request('refs/tags/v1'), pushedRef: 'refs/heads/main', madeAt },
  ],
  [
    'a mirror',
    'mirror:repo_synchronized',
    { ...mirrored(refChange('refs/heads/main')), date },
    { ...push('refs/heads/main'), madeAt },
  ],
  ['too many changes of a mirror', 'mirror:repo_synchronized', { ...mirrored(), changes: null }, ignored('NoRef')],
  ['the header of another event', 'repo:refs_changed', mirrored(refChange('refs/tags/v1')), ignored('OtherEvent')],
  ['a pull request', 'pullrequest:created', { pullrequest: {} }, ignored('EventIgnored')],
  ['a connection test', 'diagnostics:ping', { test: true }, ignored('Ping')],
];

const cases = [
  ...ofCloud.map(([what, changes, expected]) => [what, 'repo:push', cloud(...changes), expected] as const),
  ...ofDataCenter.map(
    ([what, changes, expected]) => [what, 'repo:refs_changed', dataCenter(...changes), expected] as const,
  ),
  ...others,
];

suite('Bitbucket events', () => {
  for (const [name, event, body, expected] of cases) {
    test(`with ${event} and ${name} give "${expected.kind}"`, () =>
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
