import assert from 'node:assert/strict';
import { test } from 'node:test';
import { classify } from '../../../../receiver/sources/classify.ts';

const hash = 'a'.repeat(40);
const none = '0'.repeat(40);
const sender = { login: 'octocat', id: 1, type: 'User' };
const repository = { id: 1, full_name: 'org/site', master_branch: 'main', default_branch: 'main' };
const common = { repository, sender };
const release = { tag_name: 'v1', draft: false, prerelease: false, published_at: '2020-11-02T12:55:12Z' };

/**
 * Bodies as their git servers send them, by the values of the event header that belong to each. They don't request a ref,
 * or don't request the one that another header would make of them.
 */
const bodies: [what: string, own: string[], body: Record<string, unknown>][] = [
  // https://docs.github.com/en/webhooks/webhook-events-and-payloads
  ['GitHub: delete', [], { ref: 'v1', ref_type: 'tag', pusher_type: 'user', ...common }],
  [
    'GitHub: create',
    ['create'],
    { ref: 'v1', ref_type: 'tag', master_branch: 'main', description: null, pusher_type: 'user', ...common },
  ],
  [
    'GitHub: workflow_dispatch',
    [],
    { ref: 'refs/tags/v1', workflow: '.github/workflows/a.yaml', inputs: null, ...common },
  ],
  ['GitHub: deleted push', [], { ref: 'refs/tags/v1', before: hash, after: none, deleted: true, ...common }],
  ['GitHub: deleted release', [], { action: 'deleted', release, ...common }],
  ['GitHub: draft', [], { action: 'published', release: { ...release, draft: true }, ...common }],
  ['GitHub: image', [], { action: 'published', registry_package: { package_version: { version: 'v1' } }, ...common }],
  // https://docs.gitea.com/usage/repository/webhooks, https://github.com/gogs/docs-api
  ['Gitea: create', ['create'], { sha: hash, ref: 'v1', ref_type: 'tag', ...common }],
  // https://docs.gitlab.com/user/project/integrations/webhook_events/
  [
    'GitLab: job',
    [],
    { object_kind: 'build', ref: 'refs/tags/v1', tag: true, before_sha: none, sha: hash, repository },
  ],
  ['GitLab: deleted release', [], { object_kind: 'release', action: 'delete', tag: 'v1' }],
  // https://confluence.atlassian.com/bitbucketserver/event-payload-938025882.html
  [
    'Bitbucket: modified',
    [],
    { eventKey: 'repo:modified', actor: {}, old: { name: 'a' }, new: { name: 'v1', type: 'tag' } },
  ],
  [
    'Bitbucket: comment',
    [],
    { eventKey: 'repo:comment:added', actor: {}, commit: hash, changes: [{ refId: 'refs/tags/v1', type: 'ADD' }] },
  ],
];

const names = {
  'x-github-event': ['push', 'create', 'delete', 'release', 'package', 'registry_package', 'ping', 'workflow_dispatch'],
  'x-gitea-event': ['push', 'create', 'delete', 'release'],
  'x-forgejo-event': ['push', 'create', 'delete', 'release'],
  'x-gogs-event': ['push', 'create', 'delete', 'release'],
  'x-gitlab-event': ['Push Hook', 'Tag Push Hook', 'Release Hook', 'System Hook'],
  'x-event-key': ['repo:push', 'repo:refs_changed', 'mirror:repo_synchronized'],
};
const headers = [
  {},
  ...Object.entries(names).flatMap(([header, events]) => events.map((event) => ({ [header]: event }))),
];

for (const [what, own, body] of bodies) {
  test(`a copy with another event header, or none, requests nothing: ${what}`, () => {
    for (const given of headers) {
      const { kind } = classify(given, body);
      if (own.includes(Object.values(given)[0] ?? '')) continue;
      assert.ok(kind === 'nothing' || kind === 'invalid', `${JSON.stringify(given)}: ${kind}`);
    }
  });
}

test('a delivery with its own header is still accepted', () => {
  for (const [, own, body] of bodies)
    for (const event of own)
      for (const header of ['x-github-event', 'x-gitea-event', 'x-gogs-event'])
        assert.equal(classify({ [header]: event }, body).kind, 'request');
});

test("a copy of GitHub's release never loses its time, so it can't replace a newer one", () => {
  const published = { action: 'published', release: { ...release, node_id: 'RE_1' }, ...common };
  for (const given of headers) {
    const reading = classify(given, published);
    if (reading.kind === 'request')
      assert.equal(reading.madeAt, Date.parse(release.published_at), JSON.stringify(given));
  }
  const ofGitea = { action: 'published', release, ...common };
  assert.equal(classify({ 'x-gitea-event': 'release', 'x-github-event': 'release' }, ofGitea).kind, 'request');
});

test('a handwritten body with an event header needs only the fields that are read', () => {
  assert.equal(classify({ 'x-github-event': 'push' }, { ref: 'refs/heads/main' }).kind, 'push');
  assert.equal(classify({ 'x-github-event': 'release' }, { release: { tag_name: 'v1' } }).kind, 'request');
  assert.equal(classify({}, { ref: 'v1', repository: { full_name: 'org/site' } }).kind, 'request');
});
