import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { classify } from '../../../../receiver/sources/classify.ts';
import type { JsonObject } from '../../../../receiver/sources/json-object.ts';
import { isAcceptedRepository } from '../../../../shared/domain/git/delivered-repository.ts';
import { RELEASES } from '../../../support/deliveries.ts';
import { SPELLINGS } from '../../../support/repositories.ts';

const isOf = (recorded: string, repo: string) =>
  isAcceptedRepository(recorded, { git: { repo }, webhook: { repositories: [] } });

const repositoryOf = (headers: Record<string, string>, body: JsonObject) => {
  const delivery = classify(headers, body);
  assert.ok(delivery.kind === 'request' || delivery.kind === 'push', JSON.stringify(delivery));
  return delivery.repository;
};

suite('the repository of a delivery', () => {
  for (const [what, { headers, body }] of Object.entries(RELEASES))
    test(`is recognized in any spelling of spec.git.repo, and only there: ${what}`, () => {
      const recorded = repositoryOf(headers, body);
      assert.equal(recorded, 'org/repo');
      for (const [path, spellings] of Object.entries(SPELLINGS))
        for (const spelling of spellings) assert.equal(isOf(recorded, spelling), path === 'org/repo', spelling);
    });
});

test('a git server below a path is recorded with both of its paths', () => {
  const gitea = { full_name: 'org/repo', clone_url: 'https://example.com/gitea/org/repo.git' };
  const recorded = repositoryOf({ 'x-gitea-event': 'push' }, { ref: 'refs/heads/main', repository: gitea });
  assert.equal(recorded, 'org/repo gitea/org/repo');
  for (const repo of ['http://gitea:3000/org/repo', 'git@example.com:org/repo', 'https://example.com/gitea/org/repo'])
    assert.ok(isOf(recorded, repo), repo);
});

test('a script can put a host in front of the path', () => {
  const own = repositoryOf({}, { ref: 'v1', repository: 'git.test:8443/org/repo' }) ?? '';
  assert.ok(isOf(own, 'git@github.com:org/repo.git'));
  const groupWithADot = repositoryOf({}, { ref: 'v1', repository: 'Team.X/site' }) ?? '';
  assert.ok(isOf(groupWithADot, 'https://git.test/team.x/site'));
  assert.ok(!isOf(repositoryOf({}, { ref: 'v1', repository: 'team/site' }) ?? '', 'git@git.test:site'));
});

test('credentials are never recorded', () => {
  const secret = 's3cr3t';
  for (const repository of [
    `me:${secret}@git.test/org/repo.git`,
    `me:a@${secret}@git.test:8443/org/repo`,
    `${secret}@git.test/org/repo`,
    `me:${secret}@git.test:org/repo`,
    `https://me:${secret}@git.test/org/repo`,
    `https://git.test/org/repo?token=${secret}`,
    `git.test/org/repo#${secret}`,
    { clone_url: `https://${secret}@git.test/org/repo.git?private_token=/${secret}` },
  ]) {
    const recorded = repositoryOf({}, { ref: 'v1', repository }) ?? '';
    assert.ok(isOf(recorded, 'https://git.test/org/repo.git'), recorded);
    assert.ok(!recorded.includes(secret), recorded);
  }
});

test('a GitLab server below a path is recorded with both of its paths, even without its header', () => {
  const project = { path_with_namespace: 'team/site', git_http_url: 'https://example.com/gitlab/team/site.git' };
  const body = { ref: 'refs/heads/main', project, repository: { url: 'git@example.com:team/site.git' } };
  for (const headers of [{}, { 'x-gitlab-event': 'Push Hook' }])
    assert.equal(repositoryOf(headers, { object_kind: 'push', ...body }), 'team/site gitlab/team/site');
});

test('senders and payloads without a repository have none recorded', () => {
  const app = { metadata: { annotations: { 'git.ref': 'v1' } }, spec: { source: { repoURL: 'https://git.test/x/y' } } };
  for (const body of [{ app }, { ref: 'v1', repository: ' ' }, { freight: { commits: [{ tag: 'v1' }] } }])
    assert.equal(repositoryOf({}, body), undefined, JSON.stringify(body));
  for (const repository of [undefined, null, [], { full_name: null, clone_url: '' }, { full_name: '/' }])
    for (const header of ['x-github-event', 'x-gitea-event', 'x-gogs-event'])
      assert.equal(repositoryOf({ [header]: 'push' }, { ref: 'refs/tags/v1', repository }), undefined);
});

test("a repository name that is too long isn't recorded, and its delivery is ignored", () => {
  for (const full_name of [`org/${'x'.repeat(300)}`, 'x'.repeat(100_000), `org/${'é'.repeat(300)}`]) {
    const body = { ref: 'refs/tags/v1', repository: { full_name } };
    const ignored = { kind: 'nothing', reason: 'OtherRepository', source: 'github' };
    assert.deepEqual(classify({ 'x-github-event': 'push' }, body), ignored);
  }
});
