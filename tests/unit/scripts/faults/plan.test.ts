import assert from 'node:assert/strict';
import { test } from 'node:test';
import { piecesOf, planOf } from '../../../../scripts/faults/plan.ts';

test('a seed always gives the same plan of faults, and another seed another plan', () => {
  assert.deepEqual(planOf(7, 200), planOf(7, 200));
  assert.notDeepEqual(planOf(7, 200), planOf(8, 200));
});

test('a shorter plan of faults is the beginning of a longer one', () => {
  assert.deepEqual(planOf(7, 20), planOf(7, 200).slice(0, 20));
});

test('a long plan contains every kind of fault and of work', () => {
  const steps = planOf(1, 2_000);
  assert.equal(new Set(steps.map(({ fault }) => fault.kind)).size, 27);
  assert.equal(new Set(steps.flatMap(({ work }) => work.map(({ kind }) => kind))).size, 14);
});

test('a run of faults is cut into pieces of a hundred, each with the next seed', () => {
  assert.deepEqual(piecesOf({ seed: 7, faults: 250 }), [
    { seed: 7, faults: 100 },
    { seed: 8, faults: 100 },
    { seed: 9, faults: 50 },
  ]);
  assert.deepEqual(piecesOf({ seed: 0, faults: 10 }), [{ seed: 0, faults: 10 }]);
});
