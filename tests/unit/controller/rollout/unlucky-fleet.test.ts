import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { all, canary, Fleet, fitting, three, twenty, two } from './fleet.ts';

suite('in an unlucky fleet,', () => {
  test('a surge of new gateways also obeys the limits of the wave', () => {
    const fleet = new Fleet({ waves: [{ name: 'all', maxConcurrent: 1 }] }, [[true], [true]]).look();
    fleet.well(0).look();
    for (let index = 50; index < 90; index += 1)
      fleet.join(0, { name: `n${index}`, key: String(index), createdAt: fleet.now + 500, report: undefined });
    fleet.look().well(1).look();
    assert.deepEqual([fleet.letIn.length, fleet.rollout.phase], [3, 'Progressing']);
  });

  test("a percentage isn't taken of the first gateway when a fleet is scaled up again", () => {
    const fleet = new Fleet({ waves: [{ name: 'canary', gateways: '5%' }] }, twenty);
    const gateways = fleet.gateways;
    fleet.gateways = [];
    fleet.look();
    fleet.gateways = gateways.slice(10, 11);
    fleet.look();
    assert.deepEqual([fleet.rollout.admitted, fleet.rollout.waitsFor], [0, 'Gateways']);
    fleet.gateways = gateways;
    fleet.look();
    assert.equal(fleet.rollout.admitted, 1);
  });

  test('a percentage is taken of the current gateways when a fleet stays smaller', () => {
    const fleet = new Fleet({ waves: [{ name: 'canary', gateways: '5%' }] }, twenty);
    fleet.gateways = fleet.gateways.slice(15);
    fleet.look();
    assert.equal(fleet.rollout.admitted, 0);
    fleet.pass(15).look();
    assert.deepEqual([fleet.rollout.admitted, fleet.rollout.admission[0]?.members], [1, '25']);
  });

  test('unhealthy new gateways delay a wave, which the summary says', () => {
    const fleet = new Fleet(canary, three).look();
    for (let index = 0; index < 5; index += 1) {
      fleet.join(0, { name: `n${index}`, key: `9${index}`, createdAt: fleet.now + 500 });
      fleet.hasIt(fleet.gateways.length - 1);
    }
    fleet.well(0, 1).look();
    fleet.pass(30).look();
    assert.deepEqual([fleet.rollout.waitsFor, fleet.rollout.admission[1]?.admitted], ['Gateways', '']);
  });

  test("one crash doesn't fail a gateway, however long others take", () => {
    const fleet = new Fleet({ waves: [{ name: 'canary', soak: '60m' }], onFailure: 'Rollback' }, twenty).look();
    fleet.well(...all).look();
    for (let minute = 0; minute < 20; minute += 1) {
      fleet.replace(1).pass(1).look();
    }
    fleet.crash(19).look().well(19);
    for (let minute = 0; minute < 10; minute += 1) {
      fleet.replace(1).pass(1).look();
    }
    assert.deepEqual([fleet.rollout.phase, fleet.rollout.failures], ['Soaking', undefined]);
  });

  test('a deleted paused gateway restarts no deadline, and a resumed one has its own', () => {
    const fleet = new Fleet({ waves: [{ name: 'canary' }] }, [[true], [true], [false], [false]]);
    const rest = (index: number, isPaused: boolean) => {
      fleet.change(index, { isPaused });
    };
    rest(1, true);
    rest(2, true);
    fleet.look().pass(14).look();
    rest(1, false);
    rest(3, true);
    fleet.well(0).look();
    fleet.gateways.pop();
    fleet.pass(14).look();
    assert.equal(fleet.rollout.failures, undefined);
    fleet.pass(1).look();
    assert.deepEqual(fleet.rollout.failures, ['g1']);
  });

  test('a drained percentage selects others while the next wave waits for approval', () => {
    const waves = [
      { name: 'canary', gateways: 1 },
      { name: 'all', approval: true },
    ];
    const fleet = new Fleet({ waves }, fitting('11', '11', '11')).look().well(0).look();
    assert.equal(fleet.rollout.phase, 'AwaitingApproval');
    fleet.remove(0).look();
    assert.equal(fleet.rollout.phase, 'AwaitingApproval');
    fleet.approve().look();
    assert.deepEqual([fleet.rollout.wave, fleet.rollout.message?.includes('waiting for g1')], ['canary', true]);
    fleet.well(0).look();
    assert.deepEqual([fleet.rollout.wave, fleet.rollout.phase], ['all', 'Progressing']);
  });

  test('canaries that were broken before count when the commit is retried', () => {
    const fleet = new Fleet(canary, [[true], [true], [true], [false]]).look();
    for (const index of [0, 1]) fleet.blink(index);
    fleet.pass(15).look();
    assert.equal(fleet.rollout.phase, 'Stopped');
    fleet.look('B', { retry: 'B' });
    for (const index of [0, 1]) fleet.hasIt(index);
    fleet.well(2).look('B', { retry: 'B' });
    assert.deepEqual([fleet.rollout.waitsFor, fleet.rollout.admission[1]?.admitted], ['Gateways', '']);
  });

  test("a replacement that can't pull its image fails and completes nothing", () => {
    const fleet = new Fleet({ waves: [{ name: 'canary' }], onFailure: 'Rollback' }, three).look();
    fleet.pass(1).replace(1, 'n');
    fleet.change(1, { isUnstarted: true }).well(0).look();
    fleet.pass(40).look();
    assert.deepEqual([fleet.rollout.phase, fleet.rollout.waitsFor], ['Progressing', 'Gateways']);
    fleet.change(1, { isUnstarted: false, runsSince: fleet.now }).pass(14).look();
    assert.equal(fleet.rollout.failures, undefined);
  });

  test('a gateway that is busy for a moment after it was healthy has its own deadline', () => {
    const fleet = new Fleet({ waves: [{ name: 'canary', soak: '60m' }], maxFailures: 1 }, [[true], [true], [true]]);
    fleet.look();
    fleet.well(0, 1).pass(10).look();
    fleet.hasIt(0).pass(4).look();
    fleet.pass(2).look();
    assert.deepEqual(fleet.rollout.failures, ['g2']);
  });

  test("the time for which an earlier wave waited isn't counted for the last one", () => {
    const fleet = new Fleet(canary, two).blink(0).pass(1).look().pass(20).look();
    assert.equal(fleet.rollout.waitsFor, 'Gateways');
    fleet.gateways.pop();
    fleet.well(0).look();
    assert.deepEqual([fleet.rollout.wave, fleet.rollout.phase], ['rest', 'Progressing']);
    fleet.pass(15).look();
    assert.equal(fleet.rollout.phase, 'Complete');
  });
});

test('a percentage wave that lost its gateways goes on with others, and keeps the time when it began', () => {
  const fleet = new Fleet({ waves: [{ name: 'some', gateways: '30%' }] }, [[true], [true], [true]]);
  fleet.look().look();
  const { waveStartedAt, admission: before } = fleet.rollout;
  fleet.pass(1).remove(0).look().look();
  const { admission, ...rollout } = fleet.rollout;
  assert.notEqual(admission[0]?.members, before[0]?.members);
  assert.deepEqual([rollout.wave, rollout.waveStartedAt], ['some', waveStartedAt]);
});
