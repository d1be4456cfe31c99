import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { EventLimiter } from '../../../../controller/reconcile/record-event.ts';

suite('events of a flapping resource', () => {
  test('are withheld after a burst, and resume with time', () => {
    const limiter = new EventLimiter();
    const taken = Array.from({ length: 100 }, () => limiter.take('a/b', 0)).filter(Boolean).length;
    assert.equal(taken, 12);
    assert.equal(limiter.take('a/b', 20_000), true);
    assert.equal(limiter.take('a/b', 20_001), false);
    assert.equal(limiter.take('a/b', 3_600_000), true);
  });

  test('withhold those of no other resource', () => {
    const limiter = new EventLimiter();
    for (let index = 0; index < 100; index += 1) limiter.take('a/b', 0);
    assert.equal(limiter.take('a/c', 0), true);
  });

  test('of thousands of resources of a namespace at once are withheld, and resume with time', () => {
    const limiter = new EventLimiter();
    const taken = Array.from({ length: 5_000 }, (_, index) => limiter.take(`a/${index}`, 0)).filter(Boolean).length;
    assert.equal(taken, 60);
    assert.equal(limiter.take('a/another', 0), false);
    assert.equal(limiter.take('a/another', 5_000), true);
  });

  test('of thousands of namespaces at once are withheld, and resume with time', () => {
    const limiter = new EventLimiter();
    const taken = Array.from({ length: 5_000 }, (_, index) => limiter.take(`${index}/a`, 0)).filter(Boolean).length;
    assert.equal(taken, 200);
    assert.equal(limiter.take('another/a', 0), false);
    assert.equal(limiter.take('another/a', 1_000), true);
  });

  test('leave some to the next namespace, however many a few others cause', () => {
    const limiter = new EventLimiter();
    for (let now = 0; now < 60_000; now += 100) {
      for (let namespace = 0; namespace < 20; namespace += 1)
        for (let index = 0; index < 100; index += 1) limiter.take(`evil-${namespace}/${index}`, now);
      if (now % 1_000 === 0) assert.equal(limiter.take(`good-${now}/a`, now), true, `after ${now} ms`);
    }
  });

  test("are dropped one by one, so a namespace can't refill its budget with many resources", () => {
    const limiter = new EventLimiter();
    const taken = Array.from({ length: 100_000 }, (_, index) => limiter.take(`a/${index % 3_000}`, 0));
    assert.equal(taken.filter(Boolean).length, 60);
  });
});
