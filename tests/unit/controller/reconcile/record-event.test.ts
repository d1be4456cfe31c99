import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { EventLimiter } from '../../../../controller/reconcile/record-event.ts';

suite('events of a resource that flaps', () => {
  test('are held back after a burst, and come again with time', () => {
    const limiter = new EventLimiter();
    const taken = Array.from({ length: 100 }, () => limiter.take('a/b', 0)).filter(Boolean).length;
    assert.equal(taken, 12);
    assert.equal(limiter.take('a/b', 20_000), true);
    assert.equal(limiter.take('a/b', 20_001), false);
    assert.equal(limiter.take('a/b', 3_600_000), true);
  });

  test('hold back those of no other resource', () => {
    const limiter = new EventLimiter();
    for (let index = 0; index < 100; index += 1) limiter.take('a/b', 0);
    assert.equal(limiter.take('a/c', 0), true);
  });

  test('of thousands of resources at once are held back, and come again with time', () => {
    const limiter = new EventLimiter();
    const taken = Array.from({ length: 5_000 }, (_, index) => limiter.take(`a/${index}`, 0)).filter(Boolean).length;
    assert.equal(taken, 200);
    assert.equal(limiter.take('a/another', 0), false);
    assert.equal(limiter.take('a/another', 1_000), true);
  });
});
