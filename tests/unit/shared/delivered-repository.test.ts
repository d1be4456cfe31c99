import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import {
  isAcceptedRepository,
  recordedRepository,
  repositoryPath,
} from '../../../shared/domain/delivered-repository.ts';
import { ENTRIES, SPELLINGS } from '../../support/repositories.ts';

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

suite('the recorded repository of a delivery', () => {
  const long = 'x'.repeat(150);
  const cases: [what: string, named: Parameters<typeof recordedRepository>[0], recorded: string | undefined][] = [
    ['its name once', { fullName: 'Org/Repo', url: 'https://git.test/org/repo.git' }, 'org/repo'],
    [
      'its name and another path',
      { fullName: 'org/repo', url: 'https://git.test/gitea/org/repo' },
      'org/repo gitea/org/repo',
    ],
    ['its URL alone', { url: 'git@git.test:org/repo.git' }, 'org/repo'],
    ['nothing', {}, '-'],
    ['nothing of empty names', { fullName: '', url: '/' }, '-'],
    ['no space of a name', { fullName: 'org/my repo\n' }, 'org/my%20repo%0a'],
    [
      'the name alone if both are too long',
      { fullName: `org/${long}`, url: `https://git.test/x/${long}` },
      `org/${long}`,
    ],
    ['nothing of a name that is too long', { fullName: 'x'.repeat(301) }, undefined],
    ['a name of the greatest length', { fullName: 'x'.repeat(300) }, 'x'.repeat(300)],
    ['lone surrogates', { fullName: 'org/\ud800' }, 'org/\ufffd'],
  ];
  for (const [what, named, recorded] of cases)
    test(`is ${what}`, () => assert.equal(recordedRepository(named), recorded));
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
