import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Classified, NothingReason } from '../../../../receiver/sources/delivery.ts';
import { readGitHubEvent, readGitHubRelease } from '../../../../receiver/sources/github.ts';
import type { JsonObject } from '../../../../receiver/sources/json-object.ts';

const nullCommit = '0'.repeat(40);
const release = { tag_name: 'v1.2.3', draft: false };

/** As in https://github.com/octokit/webhooks/tree/main/payload-examples/api.github.com/registry_package. */
const image = (tag: string) => ({
  ecosystem: 'docker',
  package_version: { version: 'sha256:3da1', container_metadata: { tag: { name: tag, digest: 'sha256:6c62' } } },
});
const npmPackage = { ecosystem: 'npm', package_version: { version: '2.0.0', release: { tag_name: 'v2.0.0' } } };

const request = (ref: string) => ({ kind: 'request' as const, ref, source: 'github' as const });
const push = (ref: string): Classified => ({ kind: 'push', ref, source: 'github' });
const invalid = (error: string): Classified => ({ kind: 'invalid', reason: 'InvalidPayload', error, source: 'github' });
const ignored = (reason: NothingReason): Classified => ({ kind: 'nothing', reason, source: 'github' });

const published_at = '2020-11-02T12:55:12Z';
const releases: [what: string, action: unknown, fields: object | undefined, expected: Classified][] = [
  ['a published release', 'published', {}, request('v1.2.3')],
  ['a release that left the pre-release state', 'released', {}, request('v1.2.3')],
  ['a published pre-release', 'published', { prerelease: true }, request('v1.2.3')],
  [
    'a release with its time',
    'published',
    { published_at },
    { ...request('v1.2.3'), madeAt: Date.parse(published_at) },
  ],
  ['a promoted pre-release, which keeps its time,', 'released', { published_at }, request('v1.2.3')],
  ['a release that was only created', 'created', {}, ignored('NotPublished')],
  ['a pre-release announced beside its publication', 'prereleased', {}, ignored('NotPublished')],
  ["an action that isn't a string", ['published'], {}, invalid('action: string is expected')],
  ['a draft', 'published', { draft: true }, ignored('Draft')],
  ['a release event without a release', 'published', undefined, ignored('NoRef')],
];

const created = (ref: string, ref_type: string) => ({ ref, ref_type, master_branch: 'main' });
const published = (fields: object) => ({ action: 'published', package: fields });
const withoutTag = { package_version: { release: { tag_name: '' } } };
const others: [what: string, event: string, body: JsonObject, expected: Classified][] = [
  ['a push to a branch', 'push', { ref: 'refs/heads/main', after: 'a'.repeat(40) }, push('refs/heads/main')],
  ['a pushed tag', 'push', { ref: 'refs/tags/v1' }, request('refs/tags/v1')],
  ['a deleted branch', 'push', { ref: 'refs/heads/main', deleted: true }, ignored('Deleted')],
  ['a branch at the null commit', 'push', { ref: 'refs/heads/main', after: nullCommit }, ignored('Deleted')],
  ['a push to a pull request', 'push', { ref: 'refs/pull/1/head' }, ignored('NotABranchOrTag')],
  ['a push without a ref', 'push', {}, ignored('NoRef')],
  ['a ping with any body', 'ping', { ref: 'refs/heads/main', release, hook_id: 1 }, ignored('Ping')],
  ['the creation of a tag', 'create', created('v1', 'tag'), request('refs/tags/v1')],
  ['the creation of a branch', 'create', created('release/1', 'branch'), push('refs/heads/release/1')],
  ['the creation of a repository', 'create', { ref: null, ref_type: 'repository' }, ignored('NoRef')],
  ['the creation of something else', 'create', created('x', 'constructor'), ignored('NotABranchOrTag')],
  ['the deletion of a branch', 'delete', { ref: 'main', ref_type: 'branch' }, ignored('Deleted')],
  ["a published image, whose tag isn't a git tag,", 'package', published(image('v1.2.3')), ignored('NoRef')],
  ['a package of a release without a tag', 'package', published(withoutTag), ignored('NoRef')],
  ['a package of a release', 'package', published(npmPackage), request('v2.0.0')],
  [
    'a package in the older event',
    'registry_package',
    { action: 'published', registry_package: npmPackage },
    request('v2.0.0'),
  ],
  ['an unknown event', 'telepathy', { ref: 'main' }, ignored('EventIgnored')],
  ['an event named like a property of every object', 'constructor', { ref: 'main' }, ignored('EventIgnored')],
];

const events = [
  ...releases.map(([what, action, fields, expected]) => {
    const body = { action, ...(fields && { release: { ...release, ...fields } }) };
    return [what, 'release', body, expected] as const;
  }),
  ...others,
];

suite('GitHub events', () => {
  for (const [name, event, body, expected] of events) {
    test(`${name} gives "${expected.kind}"`, () =>
      assert.deepEqual(readGitHubEvent({ 'x-github-event': event }, body), expected));
  }

  test('a push with an invalid ref is invalid', () => {
    for (const ref of [42, 'refs/heads/a..b', 'refs/heads/'])
      assert.equal(readGitHubEvent({ 'x-github-event': 'push' }, { ref })?.kind, 'invalid', JSON.stringify(ref));
  });

  test("an event without the header isn't from GitHub", () => {
    assert.equal(readGitHubEvent({}, { ref: 'refs/heads/main' }), undefined);
    assert.equal(readGitHubEvent({ 'x-github-event': '' }, { ref: 'refs/heads/main' }), undefined);
  });
});

suite('a body in the shape of a GitHub release', () => {
  test('requests the tag, even without an action, unless the action is another one', () => {
    assert.deepEqual(readGitHubRelease({}, { action: 'published', release }), request('v1.2.3'));
    assert.deepEqual(readGitHubRelease({}, { release }), request('v1.2.3'));
    assert.deepEqual(readGitHubRelease({}, { action: 'deleted', release }), ignored('NotPublished'));
  });

  test("is invalid if the tag isn't a ref", () => {
    for (const tag of [1, {}, '', '-v1'])
      assert.equal(readGitHubRelease({}, { release: { tag_name: tag } })?.kind, 'invalid', JSON.stringify(tag));
  });

  test("isn't found in bodies of other shapes", () => {
    for (const given of [undefined, null, 'v1', ['v1'], {}, { tag_name: null }])
      assert.equal(readGitHubRelease({}, { release: given }), undefined, JSON.stringify(given));
  });
});
