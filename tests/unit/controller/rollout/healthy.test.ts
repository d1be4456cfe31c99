import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { RolloutGateway } from '../../../../controller/rollout/rollout-input.ts';
import { all, Fleet, twenty } from './fleet.ts';

suite('a healthy fleet', () => {
  const waves = [{ name: 'all', maxConcurrent: 1 }];
  const shut = { window: { isOpen: false, message: 'no window is open' } };

  test('is not taken back since a gateway blinks long after it was let in, while the window is shut', () => {
    const fleet = new Fleet({ waves, onFailure: 'Rollback' }, twenty);
    fleet.look();
    fleet.well(0);
    fleet.look();
    fleet.well(1);
    fleet.look('B', shut);
    assert.deepEqual([fleet.rollout.phase, fleet.rollout.waitsFor], ['AwaitingWindow', 'Window']);
    fleet.pass(180).blink(0);
    fleet.look('B', shut);
    assert.deepEqual([fleet.rollout.phase, fleet.rollout.failures], ['Progressing', undefined]);
  });

  test('is not taken back since the controller was away', () => {
    const fleet = new Fleet({ waves: [{ name: 'canary' }], onFailure: 'Rollback' }, twenty);
    fleet.look();
    fleet.pass(20);
    fleet.well(...all);
    fleet.blink(3);
    fleet.look();
    assert.deepEqual([fleet.rollout.phase, fleet.rollout.failures], ['Progressing', undefined]);
  });

  test('is not taken back for the first pod of an empty wave, nor for a replacement that finds no node', () => {
    const fleet = new Fleet({ waves: [{ name: 'canary' }, ...waves], onFailure: 'Rollback' }, [
      ...Array.from({ length: 3 }, () => [false, true]),
    ]);
    fleet.look();
    fleet.well(0);
    fleet.look();
    const [first] = fleet.gateways;
    fleet.gateways.push({ ...(first as RolloutGateway), name: 'c', key: '99', fits: [true, true], report: undefined });
    fleet.replace(3);
    fleet.gateways[3] = { ...(fleet.gateways[3] as RolloutGateway), isUnstarted: true };
    for (let minute = 0; minute < 40; minute += 1) fleet.pass(1).look();
    assert.deepEqual(fleet.rollout.failures, ['g1']);
  });

  test('does not fail for a node that comes back late in the wave', () => {
    const fleet = new Fleet({ waves: [{ name: 'canary', soak: '30m' }] }, [[true], [true]]);
    fleet.blink(1);
    fleet.pass(60).look();
    fleet.well(0);
    fleet.look();
    fleet.pass(20);
    fleet.gateways[1] = { ...(fleet.gateways[1] as RolloutGateway), notReadySince: undefined, readySince: fleet.now };
    fleet.look();
    fleet.pass(14).look();
    assert.equal(fleet.rollout.failures, undefined);
  });
});
