import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Replays, replayKeyOf } from '../../../../receiver/authentication/replays.ts';

test('a delivery is remembered for as long as a copy of it would be authentic', () => {
  let now = 0;
  const replays = new Replays(10, () => now);
  replays.remember('a');
  now = 599_999;
  assert.equal(replays.has('a'), true);
  now = 600_000;
  assert.equal(replays.has('a'), false);
  assert.equal(replays.has('b'), false);
});

test('of too many the oldest is forgotten', () => {
  const replays = new Replays(3, () => 0);
  for (const key of ['a', 'b', 'c', 'a', 'd']) replays.remember(key);
  assert.deepEqual(
    ['a', 'b', 'c', 'd'].map((key) => replays.has(key)),
    [true, false, true, true],
  );
});

test('the id and the time tell deliveries apart, in a key of one length', () => {
  const key = (id: string, time: string) => replayKeyOf({ 'webhook-id': id, 'webhook-timestamp': time });
  assert.equal(key('x', '1'), key('x', '1'));
  assert.equal(new Set([key('x', '1'), key('x', '2'), key('y', '1'), key('x'.repeat(8000), '1')]).size, 4);
  assert.equal(key('x'.repeat(8000), '1').length, key('x', '1').length);
});
