import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { phaseTransition, withAnnounced } from '../../../../../controller/reconcile/events/announcement.ts';
import type { GatewaySyncStatus } from '../../../../../shared/api/gateway-sync-status.ts';
import type { RolloutPhase, RolloutStatus } from '../../../../../shared/api/rollout.ts';

const now = Date.parse('2026-11-21T12:00:00.000Z');
const EVENT_MS = 50 * 60_000;

const at = (phase: RolloutPhase, fields: Partial<RolloutStatus> = {}): GatewaySyncStatus => ({
  rollout: { number: 1, phase, summary: 's', message: 'm', ...fields } as RolloutStatus,
});

suite('the phase of a rollout', () => {
  const stored = withAnnounced(at('Progressing'), at('Stopped'), { now, isAnnounced: true });

  test('is to be announced after it was stored, as the same transition each time', () => {
    assert.deepEqual(stored.announced, { number: 1, phase: 'Progressing', nextSince: '2026-11-21T12:00:00.000Z' });
    const first = phaseTransition(stored, now);
    assert.deepEqual([first?.type, first?.reason, first?.since], ['Warning', 'RolloutStopped', now]);
    assert.deepEqual(phaseTransition(stored, now + EVENT_MS), first);
  });

  test('is to be announced as long as nothing else is written', () => {
    const again = withAnnounced(
      stored,
      { ...at('Stopped'), announced: undefined },
      { now: now + 5_000, isAnnounced: true },
    );
    assert.deepEqual(again, stored);
  });

  test('was announced, according to the next write for another reason', () => {
    const next = withAnnounced(stored, { ...stored, profileCount: 2 }, { now: now + 5_000, isAnnounced: true });
    assert.deepEqual(next, { ...at('Stopped'), profileCount: 2, announced: { number: 1, phase: 'Stopped' } });
    assert.equal(phaseTransition(next, now + 5_000), undefined);
  });

  test('is still to be announced after writes for other reasons, until its event is stored', () => {
    const other = withAnnounced(stored, { ...stored, profileCount: 2 }, { now: now + 5_000, isAnnounced: false });
    assert.deepEqual(phaseTransition(other, now), phaseTransition(stored, now));
    const next = withAnnounced(other, at('RollingBack'), { now: now + 9_000, isAnnounced: false });
    assert.deepEqual(next.announced, { number: 1, phase: 'Progressing', nextSince: '2026-11-21T12:00:09.000Z' });
  });

  test("isn't announced when its event may have expired", () => {
    assert.equal(phaseTransition(stored, now + EVENT_MS + 1), undefined);
  });

  test("isn't announced if it is the first one", () => {
    const first = withAnnounced({}, at('Complete'), { now, isAnnounced: true });
    assert.deepEqual(first.announced, { number: 1, phase: 'Complete' });
    assert.equal(phaseTransition(first, now), undefined);
  });

  test('is announced for each wave', () => {
    const next = withAnnounced(at('Progressing', { wave: 'a' }), at('Progressing', { wave: 'b' }), {
      now,
      isAnnounced: true,
    });
    assert.equal(phaseTransition(next, now)?.reason, 'RolloutProgressing');
  });

  test('is forgotten together with the rollout', () => {
    assert.deepEqual(
      withAnnounced(stored, { announced: stored.announced, profileCount: 1 }, { now, isAnnounced: true }),
      { profileCount: 1 },
    );
  });
});
