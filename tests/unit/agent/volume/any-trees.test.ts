import { suite, test } from 'node:test';
import { bringNextCommit, loseNothing } from '../support/any-trees.ts';

/** tests/limits/agent has many more. */
const RUNS = 100;

suite('for any trees, and kills at any calls of several syncs,', () => {
  test('all foreign files are as they were in the end', (t) => loseNothing(t, RUNS));

  test('the next commit is delivered in the end, and nothing else', (t) => bringNextCommit(t, RUNS));
});
