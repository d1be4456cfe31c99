import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { allDirectories, directoriesAfter, directoriesOf } from '../../../../agent/plan/directories.ts';
import { assertLinear } from '../../../support/assert-linear.ts';

suite('a path of a file', () => {
  test('has parent directories, the outermost first', () => {
    assert.deepEqual(directoriesOf('a'), []);
    assert.deepEqual(directoriesOf('a/b/c'), ['a', 'a/b']);
    assert.deepEqual([...allDirectories(['b/c/x', 'b/c/y', 'a/x', 'b-/x', 'b/x', 'z'])], ['a', 'b', 'b-', 'b/c']);
  });

  test('has parent directories that the previous one of a list does not have', () => {
    for (const [previous, path, directories] of [
      ['a/b/x', 'a/b/y', []],
      ['a/b/x', 'a/b/c/y', ['a/b/c']],
      ['a/b/x', 'a/bc/y', ['a/bc']],
      ['a/bc/x', 'a/b/x', ['a/b']],
      ['a', 'a/x', ['a']],
      ['', 'a/b/x', ['a', 'a/b']],
    ] as const) {
      assert.deepEqual(directoriesAfter(previous, path), directories, `${previous} before ${path}`);
    }
    const make = (size: number) => ['x', 'y'].map((name) => `${'a/'.repeat(size)}${name}`);
    assertLinear(1_000, make, ([previous = '', path = '']) => directoriesAfter(previous, path));
  });
});
