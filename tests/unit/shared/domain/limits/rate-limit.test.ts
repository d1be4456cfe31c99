import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RateLimit } from '../../../../../shared/domain/limits/rate-limit.ts';

test('a rate limit allows a burst, then one event at a time during the minute', () => {
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

test('a rate limit is separate for each key', () => {
  const limit = new RateLimit({ perMinute: 60, burst: 1, maxKeys: 10 });
  limit.count('a', 0);
  assert.equal(limit.waitMs('a', 0), 1000);
  assert.equal(limit.waitMs('b', 0), 0);
});

test('a rate limit uses a limited amount of memory in a flood of keys', () => {
  const limit = new RateLimit({ perMinute: 60, burst: 1, maxKeys: 100 });
  for (let i = 0; i < 10_000; i++) {
    limit.count(`k${i}`, 0);
    limit.count('steady', 0);
  }
  const isRemembered = (key: string) => limit.waitMs(key, 0) > 0;
  assert.equal(isRemembered('steady'), true, 'who goes on is not forgotten');
  assert.deepEqual(['k9900', 'k9901', 'k9999'].map(isRemembered), [false, true, true]);
});

test('a rate limit allows an idle key the whole burst again, and no more', () => {
  const limit = new RateLimit({ perMinute: 60, burst: 2, maxKeys: 10 });
  limit.count('a', 0);
  for (let i = 0; i < 2; i++) {
    assert.equal(limit.waitMs('a', 60_000), 0);
    limit.count('a', 60_000);
  }
  assert.equal(limit.waitMs('a', 60_000), 1000);
});

test('a rate limit of zero allows everything', () => {
  const limit = new RateLimit({ perMinute: 0, burst: 1, maxKeys: 10 });
  for (let i = 0; i < 100; i++) limit.count('a', 0);
  assert.equal(limit.waitMs('a', 0), 0);
});

test('a rate limit counts an event only if the key is allowed one', () => {
  const limit = new RateLimit({ perMinute: 60, burst: 2, maxKeys: 10 });
  assert.deepEqual([limit.take('a', 0), limit.take('a', 0), limit.take('a', 0)], [true, true, false]);
  assert.deepEqual([limit.take('a', 999), limit.take('a', 1000), limit.take('a', 1000)], [false, true, false]);
});

test('a rate limit pays off simultaneous events one after the other, and shows the rest in part', () => {
  const limit = new RateLimit({ perMinute: 60, burst: 3, maxKeys: 10 });
  limit.count('a', 0, 5);
  assert.deepEqual([limit.left('a', 0), limit.left('a', 500), limit.left('a', 60_000)], [-2, -1.5, 3]);
  assert.deepEqual([limit.waitMs('a', 0), limit.waitMs('a', 0, 0), limit.waitMs('a', 0, 3)], [3000, 2000, 5000]);
});
