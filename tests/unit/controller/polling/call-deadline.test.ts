import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { CallDeadline } from '../../../../controller/polling/call-deadline.ts';
import { SlowPlaces } from '../../../../controller/polling/slow-places.ts';

/** Deadlines that share one place for slow calls, and a clock controlled by the test. */
function arrange(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const places = [new SlowPlaces(1), new SlowPlaces(2)];
  return {
    start: (namespace: string, timeoutMs?: number) =>
      new CallDeadline(timeoutMs === undefined ? { namespace } : { namespace, timeoutMs }, places),
    /** Second by second, because a timer can start another one. */
    pass: (seconds: number) => {
      for (let second = 0; second < seconds; second += 1) t.mock.timers.tick(1_000);
    },
  };
}

suite('a call to a git server', () => {
  for (const [what, timeoutMs, seconds] of [
    ['without a time limit ends after 20 s', undefined, 20],
    ['with a shorter one ends earlier', 5_000, 5],
    ['with a longer one ends later', 3_600_000, 3_600],
  ] as const)
    test(what, (t) => {
      const { start, pass } = arrange(t);
      const { signal } = start('a', timeoutMs);
      pass(seconds - 1);
      assert.equal(signal.aborted, false);
      pass(1);
      assert.equal(signal.reason.name, 'TimeoutError');
    });

  test('with a long time limit ends after 20 s if other slow calls hold all places for them', (t) => {
    const { start, pass } = arrange(t);
    const slow = start('a', 3_600_000);
    const second = start('b', 3_600_000);
    pass(20);
    assert.deepEqual([slow.signal.aborted, second.signal.aborted], [false, true]);
    slow.clear();
    const third = start('b', 3_600_000);
    pass(20);
    assert.equal(third.signal.aborted, false, 'the place is free again');
  });

  test("isn't aborted once it has ended", (t) => {
    const { start, pass } = arrange(t);
    const deadline = start('a', 5_000);
    deadline.clear();
    pass(5);
    assert.equal(deadline.signal.aborted, false);
  });
});
