import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { Intervals } from '../../../../controller/polling/subscriber-needs.ts';

suite('the intervals of a shared repository', () => {
  test('know the least of those that are left', () => {
    const intervals = new Intervals();
    assert.equal(intervals.least, undefined);
    for (const interval of [60, 30, 30]) intervals.replace(undefined, interval);
    assert.equal(intervals.least, 30);
    intervals.replace(30, 10);
    assert.equal(intervals.least, 10);
    intervals.replace(10, undefined);
    assert.equal(intervals.least, 30);
    intervals.replace(30, undefined);
    assert.equal(intervals.least, 60);
    intervals.replace(60, undefined);
    assert.equal(intervals.least, undefined);
  });
});
