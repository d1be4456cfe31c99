import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError, askedPauseMs } from '../../../../../shared/io/kubernetes/api-error.ts';

test("the API server isn't called while its Retry-After lasts, but for at most a minute", () => {
  assert.equal(askedPauseMs(new ApiError(429, '', '2')), 2_000);
  assert.equal(askedPauseMs(new ApiError(503, '{"details":{"retryAfterSeconds":86400}}')), 60_000);
  assert.equal(askedPauseMs(new ApiError(503, '')), 0);
});
