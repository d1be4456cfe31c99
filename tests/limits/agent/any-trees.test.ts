import { suite, test } from 'node:test';
import { bringNextCommit, loseNothing } from '../../unit/agent/support/any-trees.ts';

/** Of each property; TREES_TEST_RUNS gives more. */
const RUNS = Number(process.env.TREES_TEST_RUNS ?? '150');

suite('for very many trees, and kills at any calls of several syncs,', () => {
  test('everything of others is there in the end as it was', (t) => loseNothing(t, RUNS));

  test('the next commit is there then, and nothing else', (t) => bringNextCommit(t, RUNS));
});
