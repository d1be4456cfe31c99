import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { RolloutSpec } from '../../../../shared/api/rollout.ts';
import { all, canary, DEADLINE, Fleet, shut, twenty, two } from './fleet.ts';

suite('a healthy fleet', () => {
  const waves = [{ name: 'all', maxConcurrent: 1 }];

  test("isn't rolled back if a gateway blinks long after its admission, while the window is closed", () => {
    const fleet = new Fleet({ waves, onFailure: 'Rollback' }, twenty).look().well(0).look();
    fleet.well(1).look('B', shut);
    assert.deepEqual([fleet.rollout.phase, fleet.rollout.waitsFor], ['AwaitingWindow', 'Window']);
    fleet.pass(180).blink(0).look('B', shut);
    assert.deepEqual([fleet.rollout.phase, fleet.rollout.failures], ['Progressing', undefined]);
  });

  test("isn't rolled back because the controller was down", () => {
    const fleet = new Fleet({ waves: [{ name: 'canary' }], onFailure: 'Rollback' }, twenty).look();
    fleet.pass(20);
    fleet
      .well(...all)
      .blink(3)
      .look();
    assert.deepEqual([fleet.rollout.phase, fleet.rollout.failures], ['Progressing', undefined]);
  });

  test("isn't rolled back for the first pod of an empty wave, or for an unschedulable replacement", () => {
    const fleet = new Fleet({ waves: [{ name: 'canary' }, ...waves], onFailure: 'Rollback' }, [
      ...Array.from({ length: 3 }, () => [false, true]),
    ]);
    fleet.look().well(0).look();
    fleet.join(0, { name: 'c', key: '99', fits: [true, true], report: undefined });
    fleet.replace(3).change(3, { isUnstarted: true });
    for (let minute = 0; minute < 40; minute += 1) fleet.pass(1).look();
    assert.deepEqual(fleet.rollout.failures, ['g1']);
  });

  test("doesn't fail for a node that comes back late in the wave", () => {
    const fleet = new Fleet({ waves: [{ name: 'canary', soak: '30m' }] }, [[true], [true]]);
    fleet.blink(1).pass(60).look();
    fleet.well(0).look();
    fleet.pass(20).change(1, { notReadySince: undefined, readySince: fleet.now }).look();
    fleet.pass(14).look();
    assert.equal(fleet.rollout.failures, undefined);
  });
});

suite('to the exact millisecond,', () => {
  const MINUTE = 60_000;
  /** Starts B; returns the time of that reconcile. */
  const begin = (spec: RolloutSpec, fits: boolean[][] = two) => {
    const fleet = new Fleet(spec, fits).look();
    return { fleet, began: fleet.now };
  };
  /** Reconciles at this time. */
  const reconcileAt = (fleet: Fleet, time: number, more = {}) => {
    fleet.now = time - 1_000;
    fleet.look('B', more);
  };
  for (const field of [undefined, 'createdAt', 'notReadySince', 'readySince', 'runsSince'] as const) {
    test(`a gateway has failed at the deadline, counted from ${field ?? 'its admission'}`, () => {
      const { fleet, began } = begin(canary);
      const counts = field ? 5 * MINUTE : 0;
      reconcileAt(fleet, began + counts + 1);
      if (field) fleet.change(0, { [field]: began + counts });
      reconcileAt(fleet, began + counts + DEADLINE - 1);
      assert.deepEqual([fleet.rollout.failures], [undefined]);
      reconcileAt(fleet, began + counts + DEADLINE);
      assert.deepEqual([fleet.rollout.phase, fleet.rollout.failures], ['Stopped', ['g0']]);
    });
  }

  test('a crashed gateway counts as healthy again after half of the deadline', () => {
    const { fleet, began } = begin(canary);
    fleet.crash(0).well(0);
    reconcileAt(fleet, began + DEADLINE / 2 - 1);
    assert.deepEqual([fleet.rollout.wave, fleet.rollout.verified], ['canary', 0]);
    reconcileAt(fleet, began + DEADLINE / 2);
    assert.deepEqual([fleet.rollout.wave, fleet.rollout.verified], ['rest', 1]);
  });

  test('a wave soaks for its duration', () => {
    const { fleet, began } = begin({ waves: [{ name: 'canary', soak: '10m' }] });
    fleet.well(0);
    reconcileAt(fleet, began + MINUTE);
    reconcileAt(fleet, began + 11 * MINUTE - 1);
    assert.deepEqual([fleet.rollout.phase], ['Soaking']);
    reconcileAt(fleet, began + 11 * MINUTE);
    assert.deepEqual([fleet.rollout.phase, fleet.rollout.wave], ['Progressing', 'rest']);
  });

  test('a rollback ends at the deadline', () => {
    const { fleet, began } = begin({ ...canary, onFailure: 'Rollback' });
    reconcileAt(fleet, began + DEADLINE);
    reconcileAt(fleet, began + 2 * DEADLINE - 1);
    assert.deepEqual([fleet.rollout.phase], ['RollingBack']);
    reconcileAt(fleet, began + 2 * DEADLINE);
    assert.deepEqual([fleet.rollout.phase], ['RolledBack']);
  });

  test('the last wave is complete after it had no gateway for the length of the deadline', () => {
    const { fleet, began } = begin(canary);
    fleet.well(0).remove(1);
    reconcileAt(fleet, began + MINUTE);
    reconcileAt(fleet, began + MINUTE + DEADLINE - 1);
    assert.deepEqual([fleet.rollout.phase], ['Progressing']);
    reconcileAt(fleet, began + MINUTE + DEADLINE);
    assert.deepEqual([fleet.rollout.phase, fleet.rollout.waitsSince], ['Complete', undefined]);
  });

  test('a gateway that is healthy now and then needs a user once its wave is late', () => {
    const { fleet, began } = begin({ waves: [{ name: 'canary', soak: '10m' }] });
    const late = began + DEADLINE + 10 * MINUTE;
    for (const [time, waitsFor] of [
      [late - 1, undefined],
      [late, 'Gateways'],
    ] as const) {
      fleet.change(0, { readySince: time - MINUTE });
      reconcileAt(fleet, time);
      assert.equal(fleet.rollout.waitsFor, waitsFor);
      assert.equal(fleet.rollout.phase, 'Progressing');
    }
    assert.equal(fleet.rollout.waitsSince, new Date(late).toISOString());
  });

  test('a renamed wave waits for its gateways until the deadline', () => {
    const { fleet } = begin(canary);
    const pilot = { wavesHash: 'other', spec: { waves: [{ name: 'pilot' }] } };
    fleet.changeAll({ fits: [false] }).look('B', pilot);
    const edited = fleet.now;
    reconcileAt(fleet, edited + DEADLINE - 1, pilot);
    assert.deepEqual([fleet.rollout.wave], ['pilot']);
    reconcileAt(fleet, edited + DEADLINE, pilot);
    assert.equal(fleet.rollout.wave, 'rest');
  });
});
