import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Requeries } from '../../../../controller/reconcile/resource-state.ts';

test('a git server is queried again when that is due, and only once until its response', () => {
  const requeries = new Requeries();
  const numberAt = (now: number) => {
    requeries.advance(now);
    return requeries.number;
  };
  assert.equal(numberAt(0), 0);
  requeries.plan(10);
  assert.deepEqual([numberAt(9), numberAt(10), numberAt(99)], [0, 1, 1]);
  requeries.plan(100);
  assert.deepEqual([numberAt(99), numberAt(100)], [1, 2]);
  requeries.plan(undefined);
  assert.equal(numberAt(1_000), 2);
});
