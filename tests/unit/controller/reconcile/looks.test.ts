import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Looks } from '../../../../controller/reconcile/looks.ts';

test('a look is another question once it is due, and one only until its answer is there', () => {
  const looks = new Looks();
  assert.equal(looks.take('a', 0), 0);
  looks.plan('a', 10);
  assert.deepEqual([looks.take('a', 9), looks.take('a', 10), looks.take('a', 99)], [0, 1, 1]);
  looks.plan('a', 100);
  assert.deepEqual([looks.take('a', 99), looks.take('a', 100)], [1, 2]);
  looks.plan('a', undefined);
  assert.equal(looks.take('a', 1_000), 2);
  assert.equal(looks.take('b', 1_000), 0);
});
