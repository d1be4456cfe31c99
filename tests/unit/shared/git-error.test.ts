import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { gitErrorOf } from '../../../shared/io/git/git-error.ts';
import { assertLinear } from '../../support/assert-linear.ts';

suite('an error of git', () => {
  const cases: [stderr: string, code: string][] = [
    ["fatal: transport 'file' not allowed", 'git.transport'],
    ["fatal: protocol 'foo' is not supported", 'git.transport'],
    ["fatal: repository 'https://git.test/a.git/' not found", 'git.repositoryNotFound'],
    ['remote: whatever', 'git.unreachable'],
  ];
  for (const [stderr, code] of cases) {
    test(`${stderr} is ${code}`, () => assert.equal(gitErrorOf(stderr).code, code));
  }

  for (const words of [
    "transport '",
    "protocol '",
    'repository ',
    'repository not',
    'access denied or',
    'could not read ',
  ]) {
    test(`is told in time in proportion to what a host says: ${words}…`, () => {
      assertLinear(20_000, (size) => words.repeat(size / words.length), gitErrorOf);
    });
  }
});
