import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, test } from 'node:test';
import { excludeFilter } from '../../../../agent/plan/exclude-filter.ts';
import { runCommand } from '../../../../scripts/testbed/run-command.ts';
import { BOUNDS } from '../../../../shared/api/bounds.ts';
import { assertLinear } from '../../../support/assert-linear.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const paths = [
  'a',
  'b.bak',
  '.hidden',
  'x/a',
  'x/b.bak',
  'x/y/a',
  'x/y/.hidden',
  'build/out',
  'x/build/out',
  'x/build2',
];

/** Patterns of which git itself has to think the same. */
const sets = [
  [],
  ['*.bak'],
  ['a'],
  ['**/y/**'],
  ['build/'],
  ['/build'],
  ['.*'],
  ['*.bak', '!x/b.bak'],
  ['x/', '!x/a'],
  ['x/*', '!x/y'],
  ['?'],
  ['[ab]'],
  ['# no comment here'],
  ['x/**', '!x/a'],
  ['[!a]'],
  ['x/*/a'],
  ['[[:alpha:]]'],
  ['\\.hidden'],
  ['x**'],
  ['(a|b)*'],
];

suite('excludeFilter', () => {
  for (const patterns of sets) {
    test(`${JSON.stringify(patterns)} excludes what git ignores`, async (t) => {
      const directory = await temporaryDirectory(t, 'exclude-');
      await runCommand('git', ['init', '--quiet', directory]);
      await writeFile(path.join(directory, '.gitignore'), patterns.join('\n'));
      const { stdout } = spawnSync('git', ['-C', directory, 'check-ignore', '--no-index', '--stdin'], {
        input: paths.join('\n'),
      });
      const ignored = stdout.toString().split('\n').filter(Boolean);
      assert.deepEqual(paths.filter(excludeFilter(patterns)), ignored);
    });
  }

  test("expands braces, which gitignore doesn't", () => {
    assert.deepEqual(['a.tmp', 'x/a.bak', 'a.txt'].filter(excludeFilter(['*.{tmp,bak}'])), ['a.tmp', 'x/a.bak']);
  });

  for (const pattern of ['*a*a*a*a*a*a*b', '/**/*a*a*a*a*a*b', `${'/'.repeat(BOUNDS.text)}x`]) {
    test(`takes time proportional to the path: ${pattern.slice(0, 12)}…`, () => {
      const isExcluded = excludeFilter([pattern]);
      assertLinear(1_000, (size) => 'a'.repeat(size), isExcluded);
    });
  }

  for (const pattern of ['**/*.bak', 'build/']) {
    test(`takes time proportional to the path, however deep it is: ${pattern}`, () => {
      let other = 0;
      const isExcluded = (path: string) => excludeFilter([pattern])(`${other++}/${path}`);
      assertLinear(500, (size) => 'a/'.repeat(size), isExcluded);
    });
  }

  test('checks a path that is too long to open by its outer directories only', () => {
    const endless = `x/y/${`${'a'.repeat(99)}/`.repeat(50)}b.bak`;
    const excludes = (pattern: string) => excludeFilter([pattern])(endless);
    assert.deepEqual(['x', 'x/y/', '**/y/**', '*.bak', '**/*.bak'].map(excludes), [true, true, true, false, false]);
  });

  test('takes time proportional to the pattern', () => {
    assertLinear(
      10 * BOUNDS.text,
      (size) => `x${'/'.repeat(size)}x`,
      (pattern) => excludeFilter([pattern])('x/x'),
    );
  });

  test('excludes nothing for an empty pattern', () => {
    assert.deepEqual(paths.filter(excludeFilter(['', ' ', '/'])), []);
  });
});
