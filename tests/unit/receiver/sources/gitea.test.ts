import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Classified, NothingReason } from '../../../../receiver/sources/delivery.ts';
import { readGiteaEvent } from '../../../../receiver/sources/gitea.ts';
import type { JsonObject } from '../../../../receiver/sources/json-object.ts';

const source = 'gitea';
const commit = 'bffeb74224043ba2feb48d137756c8a9331c449a';
const ignored = (reason: NothingReason): Classified => ({ kind: 'nothing', reason, source });

// Shapes as in https://docs.gitea.com/usage/repository/webhooks and https://forgejo.org/docs/latest/user/webhooks/.
const push = { ref: 'refs/heads/develop', before: '28e1879d029cb852e4844d9c718537df08844e03', after: commit };
const release = { tag_name: 'v1.0.0', target_commitish: 'main', draft: false, prerelease: false };

const request = (ref: string): Classified => ({ kind: 'request', ref, source });
const created = (ref: string, ref_type: string) => ({ sha: commit, ref, ref_type });
const old = { ...release, published_at: '2020-11-02T12:55:12Z' };
const cases: [what: string, event: string, body: JsonObject, expected: Classified][] = [
  ['a push', 'push', push, { kind: 'push', ref: 'refs/heads/develop', source }],
  ['a pushed tag', 'push', { ...push, ref: 'refs/tags/v1' }, request('refs/tags/v1')],
  ['a branch that now points to the null commit', 'push', { ...push, after: '0'.repeat(40) }, ignored('Deleted')],
  ['a new tag', 'create', created('v1', 'tag'), request('refs/tags/v1')],
  ['a new tag with its full name', 'create', created('refs/tags/v1', 'tag'), request('refs/tags/v1')],
  ['a new branch', 'create', created('feature/x', 'branch'), { kind: 'push', ref: 'refs/heads/feature/x', source }],
  [
    'a release, whose date can be that of an old tag,',
    'release',
    { action: 'published', release: old },
    request('v1.0.0'),
  ],
  ['a deleted tag', 'delete', { ref: 'v1', ref_type: 'tag', pusher_type: 'user' }, ignored('Deleted')],
  ['an edited release', 'release', { action: 'updated', release }, ignored('NotPublished')],
  ['a draft', 'release', { action: 'published', release: { ...release, draft: true } }, ignored('Draft')],
  ['a release without a tag', 'release', { action: 'published' }, ignored('NoRef')],
  ['a package', 'package', { action: 'created', package: { version: '1' } }, ignored('EventIgnored')],
];

for (const header of ['x-gitea-event', 'x-forgejo-event', 'x-gogs-event']) {
  suite(`events with the header ${header}`, () => {
    for (const [name, event, body, expected] of cases) {
      test(`${name} gives "${expected.kind}"`, () =>
        assert.deepEqual(readGiteaEvent({ [header]: event }, body), expected));
    }
  });
}

test("an event without a header of Gitea, Forgejo, or Gogs isn't from them", () => {
  assert.equal(readGiteaEvent({}, push), undefined);
  assert.equal(readGiteaEvent({ 'x-gitea-event': '', 'x-github-event': 'push' }, push), undefined);
});

test('an event of Gogs with an invalid ref is invalid', () => {
  for (const ref of ['..', 7])
    assert.equal(readGiteaEvent({ 'x-gogs-event': 'create' }, { sha: commit, ref, ref_type: 'tag' })?.kind, 'invalid');
});
