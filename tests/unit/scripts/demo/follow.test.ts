import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { follow } from '../../../../scripts/demo/follow.ts';
import { ApiError } from '../../../../shared/io/kubernetes/api-error.ts';
import type { KubernetesClient } from '../../../../shared/io/kubernetes/client.ts';

test('a cluster that refuses a watch is not asked again at once', async () => {
  let asked = 0;
  const stream = async () => {
    asked += 1;
    throw new ApiError(403, '{}');
  };
  const ending = new AbortController();
  const following = follow({ stream } as unknown as KubernetesClient, { path: '/x' }, () => {}, ending.signal);
  await sleep(400);
  ending.abort();
  await following;
  assert.ok(asked >= 1 && asked <= 2, `${asked} times`);
});
