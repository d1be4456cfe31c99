import { suite, test } from 'node:test';
import { bringNextCommit, exchangeTrees, loseNothing } from '../../unit/agent/support/any-trees.ts';

/** Runs of each property; TREES_TEST_RUNS sets more. */
const RUNS = Number(process.env.TREES_TEST_RUNS ?? '150');

suite('the agent, with many random trees and kills at any calls of several syncs,', () => {
  test('keeps all files of other owners unchanged', (t) => loseNothing(t, RUNS));

  test('keeps them while atomic destinations come and go', (t) => exchangeTrees(t, RUNS));

  test('delivers exactly the next commit in the end', (t) => bringNextCommit(t, RUNS));
});
