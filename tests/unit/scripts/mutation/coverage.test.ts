import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { hasRun } from '../../../../scripts/mutation/coverage.ts';

suite('whether the code at a place ran', () => {
  const ranges = [
    { startOffset: 0, endOffset: 100, count: 1 },
    { startOffset: 10, endOffset: 50, count: 0 },
    { startOffset: 20, endOffset: 30, count: 4 },
  ];
  for (const [place, expected] of [
    [5, true],
    [10, false],
    [20, true],
    [30, false],
    [50, true],
    [100, false],
  ] as const) {
    test(`at ${place}: ${expected}`, () => assert.equal(hasRun(ranges, place), expected));
  }
  test('of a file that nobody loaded: no', () => assert.equal(hasRun([], 0), false));
});
