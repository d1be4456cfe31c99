import assert from 'node:assert/strict';
import { it } from 'node:test';
import { backoffMs } from '../../../../../shared/domain/limits/backoff.ts';

it('a backoff doubles its delay with each failure, up to a maximum', () => {
  const backoff = { baseMs: 100, maxMs: 1_000, jitter: 0 };
  const delays = [0, 1, 2, 3, 4, 5, 5_000].map((failures) => backoffMs(failures, backoff, 1));
  assert.deepEqual(delays, [100, 100, 200, 400, 800, 1_000, 1_000]);
});

it('a backoff subtracts a random part of the delay, and never more than its jitter', () => {
  const delay = (jitter: number, chance: number) => backoffMs(2, { baseMs: 100, maxMs: 1_000, jitter }, chance);
  assert.deepEqual([delay(1, 1), delay(1, 0.5), delay(0.25, 1), delay(0.25, 0)], [0, 100, 150, 200]);
});
