import assert from 'node:assert/strict';
import { test } from 'node:test';
import { forbiddenDelay } from '../../../../agent/resource/forbidden-delay.ts';

test('rights are waited for by the second, and after half a minute less and less often', () => {
  assert.equal(forbiddenDelay(1), 1_000);
  assert.equal(forbiddenDelay(30), 1_000);
  assert.equal(forbiddenDelay(32), 4_000);
  assert.equal(forbiddenDelay(10_000), 60_000);
});
