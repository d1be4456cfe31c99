import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { backoffMs } from '../../../controller/controller.ts';
import { ApiError } from '../../../shared/io/kubernetes/api-error.ts';

suite('a reconcile that failed is tried again', () => {
  test('when the API server asked for, but within a minute, whatever it asks for', () => {
    assert.equal(backoffMs(1, new ApiError(429, '', '7')), 7_000);
    assert.equal(backoffMs(1, new ApiError(429, '', '3600')), 60_000);
  });

  test('within five minutes, however often it failed', () => {
    const waitMs = backoffMs(100, new ApiError(403, ''));
    assert.ok(waitMs >= 225_000 && waitMs <= 300_000, `${waitMs} ms`);
  });
});
