import { suite, test } from 'node:test';
import { byDepth } from '../../../support/depth.ts';
import { bringNextCommit, exchangeTrees, loseNothing } from '../support/any-trees.ts';

const RUNS = byDepth(20, 200, 2_000);

suite('for any trees, and kills at any calls of several syncs,', () => {
  test('all foreign files are as they were in the end', (t) => loseNothing(t, RUNS));

  test('atomic destinations lose no foreign file, and have the wanted files in the end', (t) => exchangeTrees(t, RUNS));

  test('the next commit is delivered in the end, and nothing else', (t) => bringNextCommit(t, RUNS));
});
