import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { StatusThrottle } from '../../../../../controller/reconcile/status/status-throttle.ts';
import type { GatewaySyncStatus } from '../../../../../shared/api/gateway-sync-status.ts';
import type { RolloutPhase, RolloutStatus } from '../../../../../shared/api/rollout.ts';

const rollout = { number: 2, phase: 'Progressing' } as RolloutStatus;

suite('a status write', () => {
  const at = (phase: RolloutPhase, more: Partial<RolloutStatus> = {}): GatewaySyncStatus => ({
    rollout: { ...rollout, phase, ...more },
  });
  /** Number of these changes, one per millisecond, that are written at once. */
  const writtenAtOnce = (changes: [GatewaySyncStatus, GatewaySyncStatus][]) => {
    const throttle = new StatusThrottle();
    return changes.filter(([before, after], now) => {
      const isWritten = throttle.waitMs(before, after, now) === 0;
      if (isWritten) throttle.noteWritten(before, after, now);
      return isWritten;
    }).length;
  };

  test('of a flapping phase comes twice per second', () => {
    const soaking = at('Soaking');
    const progressing = at('Progressing');
    const flaps = Array.from({ length: 1_000 }, (_, n): [GatewaySyncStatus, GatewaySyncStatus] =>
      n % 2 === 0 ? [soaking, progressing] : [progressing, soaking],
    );
    assert.equal(writtenAtOnce(flaps), 2);
  });

  test('of a rollout that begins, stops or rolls back comes at once', () => {
    assert.equal(
      writtenAtOnce([
        [at('Soaking'), at('Progressing')],
        [at('Progressing'), at('Stopped')],
        [at('Stopped'), at('RollingBack', { number: 3 })],
        [at('RollingBack', { number: 3 }), at('Progressing', { number: 4 })],
      ]),
      4,
    );
  });

  test('that failed is made again without another wait', () => {
    const throttle = new StatusThrottle();
    const waits = [0, 1, 2].map((now) => throttle.waitMs(at('Progressing'), at('Soaking'), now));
    assert.deepEqual(waits, [0, 0, 0]);
  });

  for (const seconds of [10, 40])
    test(`about a preview that takes ${seconds} s comes at most 5 times, and its end comes at once`, () => {
      const throttle = new StatusThrottle();
      const end = seconds * 1_000;
      const release = { commit: 'c', ref: 'v1', revision: 'r', startedAt: '', unchanged: 0, failing: 0, files: 0 };
      const at = (reported: number, endedAt?: string): GatewaySyncStatus => ({
        // It waits for an approval.
        rollout: { ...rollout, phase: 'Complete', preview: { ...release, total: end / 10, reported, endedAt } },
      });
      let stored: GatewaySyncStatus = { rollout: { ...rollout, phase: 'Complete' } };
      const writtenAt: number[] = [];
      for (let now = 0; now <= end; now += 10) {
        const next = now < end ? at(now / 10) : at(end / 10, 'now');
        if (throttle.waitMs(stored, next, now) > 0) continue;
        throttle.noteWritten(stored, next, now);
        writtenAt.push(now);
        stored = next;
      }
      assert.ok(writtenAt.length <= 5, `${writtenAt}`);
      assert.deepEqual([writtenAt[0], writtenAt.at(-1)], [0, end]);
    });
});
