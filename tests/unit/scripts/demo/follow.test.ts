import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { follow } from '../../../../scripts/demo/follow.ts';
import { ApiError } from '../../../../shared/io/kubernetes/api-error.ts';
import { clientWith } from '../../../support/client-with.ts';

test("a rejected watch isn't retried at once", async () => {
  let asked = 0;
  const stream = async () => {
    asked += 1;
    throw new ApiError(403, '{}');
  };
  const ending = new AbortController();
  const following = follow(clientWith({ stream }), { path: '/x' }, () => {}, ending.signal);
  await sleep(400);
  ending.abort();
  await following;
  assert.ok(asked >= 1 && asked <= 2, `${asked} times`);
});
