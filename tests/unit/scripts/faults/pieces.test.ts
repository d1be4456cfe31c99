import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FAILED, piecesOf } from '../../../../scripts/faults/pieces.ts';

test('a run with a seed is cut into pieces of a hundred, each with the next seed', () => {
  assert.deepEqual(piecesOf({ seed: 7, faults: 250 }), [
    { seed: 7, faults: 100 },
    { seed: 8, faults: 100 },
    { seed: 9, faults: 50 },
  ]);
  assert.deepEqual(piecesOf({ seed: 0, faults: 10 }), [{ seed: 0, faults: 10 }]);
});

test('a run without a seed begins with what has failed before', () => {
  const pieces = piecesOf({ seed: undefined, faults: 200 });
  assert.deepEqual(pieces.slice(0, FAILED.length), FAILED);
  assert.deepEqual(
    pieces.slice(FAILED.length).map(({ faults }) => faults),
    [100, 100],
  );
});
