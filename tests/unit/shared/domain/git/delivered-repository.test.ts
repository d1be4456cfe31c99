import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { isAcceptedRepository, repositoryPath } from '../../../../../shared/domain/git/delivered-repository.ts';
import { ENTRIES, SPELLINGS } from '../../../../support/repositories.ts';

const accepts = (recorded: string, repo: string, repositories: string[] = []) =>
  isAcceptedRepository(recorded, { git: { repo }, webhook: { repositories } });

suite('a repository is recognized as the same', () => {
  for (const [path, spellings] of Object.entries(SPELLINGS))
    for (const spelling of spellings)
      test(`${spelling} as ${path}`, () => assert.equal(repositoryPath(spelling), path));

  test('with a user name in front', () => {
    assert.equal(repositoryPath('https://org@dev.azure.com/org/project/_git/repo'), 'org/project/repo');
    assert.equal(repositoryPath('https://me@org.visualstudio.com/project/_git/repo'), 'org/project/repo');
  });

  test('in formats that only senders use', () => {
    for (const text of ['git.test:org/repo.git', 'git@[fd00::1]:Org/repo.git', '[git@git.test:2222]:org/repo'])
      assert.equal(repositoryPath(text), 'org/repo', text);
  });

  test('but never as another one', () => {
    const paths = Object.keys(SPELLINGS);
    for (const path of paths)
      for (const [other, spellings] of Object.entries(SPELLINGS))
        for (const spelling of spellings)
          assert.equal(accepts(path, spelling), path === other, `${path} in ${spelling}`);
  });
});

suite('a delivery for a resource is accepted', () => {
  const repo = 'https://git.test/org/repo.git';

  test('if it names no repository', () => assert.ok(accepts('-', repo)));
  test('if one of its paths matches', () => assert.ok(accepts('other/name org/repo', repo)));
  test('if a user wrote a URL', () => assert.ok(accepts('https://git.test/Org/Repo.git', repo)));
  test('but never for another repository', () => {
    for (const other of ['org/repo2', 'org', 'repo', 'org/repo/x', 'x/org/repo', 'orgs/repo', '', 'org/rep'])
      assert.ok(!accepts(other, repo), other);
  });

  for (const { entry, matches, others } of ENTRIES)
    test(`if spec.webhook.repositories contains it: ${entry}`, () => {
      for (const path of matches) assert.ok(accepts(path, repo, ['x/y', entry]), path);
      for (const path of others) assert.ok(!accepts(path, repo, ['x/y', entry]), path);
    });
});
