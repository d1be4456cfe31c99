import assert from 'node:assert/strict';
import { test } from 'node:test';
import { piecesOf } from '../../../../scripts/faults/pieces.ts';

test('a run of faults is cut into pieces of a hundred, each with the next seed', () => {
  assert.deepEqual(piecesOf({ seed: 7, faults: 250 }), [
    { seed: 7, faults: 100 },
    { seed: 8, faults: 100 },
    { seed: 9, faults: 50 },
  ]);
  assert.deepEqual(piecesOf({ seed: 0, faults: 10 }), [{ seed: 0, faults: 10 }]);
});
