import { suite, test } from 'node:test';
import { bringNextCommit, loseNothing } from '../support/any-trees.ts';

/** tests/limits/agent has many more. */
const RUNS = 100;

suite('for any trees, and kills at any calls of several syncs,', () => {
  test('everything of others is there in the end as it was', (t) => loseNothing(t, RUNS));

  test('the next commit is there then, and nothing else', (t) => bringNextCommit(t, RUNS));
});
