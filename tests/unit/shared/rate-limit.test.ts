import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RateLimit } from '../../../shared/domain/rate-limit.ts';

test('a burst is let through, then one at a time as the minute goes on', () => {
  const limit = new RateLimit({ perMinute: 60, burst: 3, maxKeys: 10 });
  for (let i = 0; i < 3; i++) {
    assert.equal(limit.waitMs('a', 0), 0);
    limit.count('a', 0);
  }
  assert.equal(limit.waitMs('a', 0), 1000);
  assert.equal(limit.waitMs('a', 400), 600);
  assert.equal(limit.waitMs('a', 1000), 0);
  limit.count('a', 1000);
  assert.equal(limit.waitMs('a', 1000), 1000);
  assert.equal(limit.waitMs('a', 60_000), 0);
});

test('one key does not cost another', () => {
  const limit = new RateLimit({ perMinute: 60, burst: 1, maxKeys: 10 });
  limit.count('a', 0);
  assert.equal(limit.waitMs('a', 0), 1000);
  assert.equal(limit.waitMs('b', 0), 0);
});

test('a flood of keys takes no more memory than the limit allows', () => {
  const limit = new RateLimit({ perMinute: 60, burst: 1, maxKeys: 100 });
  for (let i = 0; i < 10_000; i++) {
    limit.count(`k${i}`, i);
    limit.count('steady', i);
  }
  assert.equal(limit.size, 100);
  assert.ok(limit.waitMs('steady', 10_000) > 0, 'who goes on is not forgotten');
  assert.equal(limit.waitMs('k0', 10_000), 0);
});

test('a key that was idle has the whole burst again, and no more', () => {
  const limit = new RateLimit({ perMinute: 60, burst: 2, maxKeys: 10 });
  limit.count('a', 0);
  for (let i = 0; i < 2; i++) {
    assert.equal(limit.waitMs('a', 60_000), 0);
    limit.count('a', 60_000);
  }
  assert.equal(limit.waitMs('a', 60_000), 1000);
});

test('as many keys as may be remembered are', () => {
  const limit = new RateLimit({ perMinute: 60, burst: 1, maxKeys: 2 });
  for (const key of ['a', 'b']) limit.count(key, 0);
  assert.deepEqual([limit.size, limit.waitMs('a', 0), limit.waitMs('b', 0)], [2, 1000, 1000]);
});

test('a rate of zero limits nothing and remembers nothing', () => {
  const limit = new RateLimit({ perMinute: 0, burst: 1, maxKeys: 10 });
  for (let i = 0; i < 100; i++) limit.count('a', 0);
  assert.equal(limit.waitMs('a', 0), 0);
  assert.equal(limit.size, 0);
});

test('an event is taken only if the key may have one', () => {
  const limit = new RateLimit({ perMinute: 60, burst: 2, maxKeys: 10 });
  assert.deepEqual([limit.take('a', 0), limit.take('a', 0), limit.take('a', 0)], [true, true, false]);
  assert.deepEqual([limit.take('a', 999), limit.take('a', 1000), limit.take('a', 1000)], [false, true, false]);
});

test('several events at once are paid off one after the other, and what is left shows them in part', () => {
  const limit = new RateLimit({ perMinute: 60, burst: 3, maxKeys: 10 });
  limit.count('a', 0, 5);
  assert.deepEqual([limit.left('a', 0), limit.left('a', 500), limit.left('a', 60_000)], [-2, -1.5, 3]);
  assert.deepEqual([limit.waitMs('a', 0), limit.waitMs('a', 0, 0), limit.waitMs('a', 0, 3)], [3000, 2000, 5000]);
});

test('a key that is forgotten has the whole burst again', () => {
  const limit = new RateLimit({ perMinute: 60, burst: 1, maxKeys: 10 });
  limit.count('a', 0);
  limit.forget('a');
  assert.equal(limit.left('a', 0), 1);
});
