import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { retryAfterMs } from '../../../controller/controller.ts';
import { ApiError } from '../../../shared/io/kubernetes/api-error.ts';

suite('a failed reconcile is retried', () => {
  test('when the API server asks for it, but within a minute at the latest', () => {
    const waits = Array.from({ length: 100 }, () => retryAfterMs(1, new ApiError(429, '', '7')));
    assert.ok(Math.min(...waits) >= 7_000 && Math.max(...waits) <= 8_750, String(waits));
    assert.ok(new Set(waits).size > 1, 'not all come back in the same moment');
    const longest = retryAfterMs(1, new ApiError(429, '', '3600'));
    assert.ok(longest >= 60_000 && longest <= 75_000, String(longest));
  });

  test('within five minutes, however often it failed', () => {
    const waitMs = retryAfterMs(100, new ApiError(403, ''));
    assert.ok(waitMs >= 225_000 && waitMs <= 300_000, `${waitMs} ms`);
  });
});
