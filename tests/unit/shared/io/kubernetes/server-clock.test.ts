import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServerClock } from '../../../../../shared/io/kubernetes/server-clock.ts';

/** A clock whose machine is wrong by so many milliseconds, after it has seen an answer of the API server. */
function observed(wrongByMs: number): ServerClock {
  const clock = new ServerClock(() => Date.now() + wrongByMs);
  clock.observe(new Date().toUTCString());
  return clock;
}

const errorOf = (clock: ServerClock) => Math.abs(clock.at(performance.now()).getTime() - Date.now());

test('a clock that agrees with the server is unchanged', () => {
  for (const wrongByMs of [0, 300, -300]) assert.equal(observed(wrongByMs).offsetMs, 0);
});

test('a wrong clock is corrected, to the second', () => {
  for (const wrongByMs of [3000, -3000, 3_600_000, -86_400_000]) assert.ok(errorOf(observed(wrongByMs)) <= 1000);
});

test('a response that arrives late corrects only a clock that differs by more than the delay', () => {
  const late = (wrongByMs: number, writtenMsAgo: number) => {
    const clock = new ServerClock(() => Date.now() + wrongByMs);
    clock.observe(new Date(Date.now() - writtenMsAgo).toUTCString(), performance.now() - 3_000);
    return clock;
  };
  for (const writtenMsAgo of [2_900, 1_500, 100]) {
    assert.equal(late(0, writtenMsAgo).offsetMs, 0);
    assert.ok(errorOf(late(20_000, writtenMsAgo)) <= 2_500);
  }
});

test('a clock is trusted again once it is corrected', () => {
  let wrongByMs = 10_000;
  const clock = new ServerClock(() => Date.now() + wrongByMs);
  clock.observe(new Date().toUTCString());
  assert.notEqual(clock.offsetMs, 0);
  wrongByMs = 0;
  clock.observe(new Date().toUTCString());
  assert.equal(clock.offsetMs, 0);
});

test('a response without a valid date changes nothing', () => {
  const clock = new ServerClock();
  for (const header of [undefined, '', 'yesterday']) clock.observe(header);
  assert.equal(clock.offsetMs, 0);
});
