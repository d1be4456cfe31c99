import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { suite, test } from 'node:test';
import { reachOf } from '../../../scripts/test/reach.ts';

const root = `${import.meta.dirname}/../../..`;

suite('the tests that a change can reach', () => {
  for (const [title, changed, expected] of [
    ['are those of its program', ['cli/main.ts'], ['tests/browser', 'tests/integration/cli', 'tests/unit/cli']],
    [
      'are the changed ones',
      ['tests/unit/agent/git/a.test.ts', 'tests/chart/b.test.ts'],
      ['tests/chart', 'tests/unit/agent'],
    ],
    ['are all if programs share what changed', ['cli/main.ts', 'shared/domain/files/glob.ts'], ['all']],
    ['are all if packages changed', ['package-lock.json'], ['all']],
    [
      'are those that use a changed helper',
      ['tests/chart/support/render.ts', 'tests/unit/agent/support/sandbox.ts'],
      ['tests/chart', 'tests/unit/agent'],
    ],
    [
      'are those that read the docs',
      ['docs/how-to/x.md', 'examples/y.yaml'],
      ['tests/chart', 'tests/servers', 'tests/site'],
    ],
    ['are none if only other texts or end-to-end tests changed', ['README.md', 'tests/e2e/a.test.ts'], []],
  ] as const) {
    test(title, () => assert.deepEqual(reachOf([...changed]), expected));
  }

  for (const program of ['agent', 'controller', 'receiver', 'cli', 'chart', 'docs', 'install', 'examples', 'site']) {
    test(`exist for ${program}`, () => {
      const reached = reachOf([`${program}/file.ts`]);
      assert.ok(reached.length > 0);
      for (const directory of reached) assert.ok(existsSync(`${root}/${directory}`), directory);
    });
  }
});
