import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { recordedRepository } from '../../../../receiver/sources/recorded-repository.ts';

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
