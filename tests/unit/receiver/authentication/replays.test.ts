import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Replays, replayKeyOf } from '../../../../receiver/authentication/replays.ts';

test('a delivery is remembered for as long as a copy of it would be authentic, per resource', () => {
  let now = 10_000_000;
  const replays = new Replays(() => now);
  replays.remember('team/demo', 'a');
  now += 599_999;
  assert.equal(replays.has('team/demo', 'a'), true);
  assert.equal(replays.has('team/other', 'a'), false);
  now += 1;
  assert.equal(replays.has('team/demo', 'a'), false);
});

test('a thousand deliveries of a resource, and of a thousand resources, are all remembered', () => {
  const replays = new Replays(() => 0);
  for (let i = 0; i < 1000; i++) {
    replays.remember('team/demo', `x${i}`);
    if (i > 0) replays.remember(`team/${i}`, 'x');
  }
  assert.deepEqual([replays.has('team/demo', 'x0'), replays.has('team/1', 'x')], [true, true]);
});

test('a replayed delivery counts as new among those to remember', () => {
  let now = 0;
  const replays = new Replays(() => now);
  replays.remember('team/demo', 'a');
  replays.remember('team/demo', 'b');
  now = 300_000;
  replays.remember('team/demo', 'a');
  now = 600_000;
  replays.remember('team/demo', 'c');
  const remembered = ['a', 'b', 'c'].map((key) => replays.has('team/demo', key));
  assert.deepEqual(remembered, [true, false, true]);
});

test('with too many deliveries, the oldest of the same resource is forgotten', () => {
  const replays = new Replays(() => 0);
  replays.remember('team/demo', 'x');
  for (let i = 0; i <= 1000; i++) replays.remember('hostile/demo', `x${i}`);
  assert.equal(replays.has('hostile/demo', 'x0'), false);
  assert.equal(replays.has('hostile/demo', 'x1000'), true);
  assert.equal(replays.has('team/demo', 'x'), true);
});

test("expired deliveries are forgotten with the next one, and younger ones aren't", () => {
  let now = 0;
  const replays = new Replays(() => now);
  for (const key of ['a', 'b']) {
    replays.remember('team/demo', key);
    now += 300_000;
  }
  replays.remember('team/demo', 'c');
  now = 300_000;
  const remembered = ['a', 'b', 'c'].map((key) => replays.has('team/demo', key));
  assert.deepEqual(remembered, [false, true, true]);
});

test('with too many resources, the least recently used one is forgotten', () => {
  const replays = new Replays(() => 0);
  for (let i = 0; i < 1000; i++) replays.remember(`team/${i}`, 'x');
  replays.remember('team/0', 'y');
  replays.remember('team/1000', 'x');
  assert.equal(replays.has('team/1', 'x'), false);
  assert.deepEqual([replays.has('team/0', 'x'), replays.has('team/2', 'x')], [true, true]);
});

test('deliveries are distinguished by ID, time, and body, in a key of fixed length', () => {
  const key = (id: string, time: string, body = '{}') =>
    replayKeyOf({ headers: { 'webhook-id': id, 'webhook-timestamp': time }, body: Buffer.from(body) });
  assert.equal(key('x', '1'), key('x', '1'));
  assert.equal(
    new Set([key('x', '1'), key('x', '2'), key('y', '1'), key('x'.repeat(8000), '1'), key('x', '1', '[]')]).size,
    5,
  );
  assert.equal(key('x'.repeat(8000), '1').length, key('x', '1').length);
});
