import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { RolloutSpec } from '../../../../shared/api/rollout.ts';
import { ALL, isWithin } from '../../../../shared/domain/rollout/waves.ts';
import { all, canary, DEADLINE, Fleet, shut, three, twenty, two } from './fleet.ts';

const one: RolloutSpec = { waves: [{ name: 'all', maxConcurrent: 1 }] };

test("a new gateway whose clock is ahead of the controller's doesn't end the step", () => {
  const fleet = new Fleet(canary, three).remove(1).look().well(0);
  const ahead = fleet.now + 6_000;
  const report = { rollout: fleet.rollout.number, commit: undefined, revision: undefined, state: 'busy' as const };
  fleet.join(0, { name: 'n', key: '105', createdAt: ahead, notReadySince: ahead, report }).look();
  assert.ok(['canary', 'rest'].includes(fleet.rollout.wave ?? ''));
});

suite('maxConcurrent', () => {
  test('holds when all gateways are recreated at once', () => {
    const fleet = new Fleet(one, twenty).look();
    for (const index of all) fleet.replace(index);
    for (let second = 0; second < 60; second++) fleet.look();
    assert.equal(fleet.letIn.length, 1);
  });

  test('holds when the commit comes while the fleet starts', () => {
    const fleet = new Fleet(one, twenty);
    fleet
      .changeAll({ notReadySince: fleet.now - 2_000 })
      .look()
      .look();
    assert.equal(fleet.letIn.length, 1);
  });

  test("ignores gateways that haven't been ready for the length of the deadline", () => {
    const fleet = new Fleet(one, twenty);
    fleet.gateways = fleet.gateways.map((gateway, index) =>
      index < 5 ? { ...gateway, notReadySince: fleet.now - DEADLINE } : gateway,
    );
    fleet.look();
    assert.deepEqual(fleet.letIn, ['g0', 'g1', 'g2', 'g3', 'g4', 'g5']);
  });

  test('releases the place of a late gateway that hangs after the deadline, and names it until then', () => {
    const fleet = new Fleet(one, [[true], [true]]).look();
    fleet.well(0);
    fleet
      .join(0, { name: 'm', key: '105', createdAt: fleet.now + 500, report: undefined })
      .look()
      .look();
    assert.deepEqual(fleet.letIn.sort(), ['g0', 'm']);
    assert.match(fleet.message, / m .* all .*Z/);
    fleet.pass(15).look();
    assert.deepEqual(fleet.letIn.sort(), ['g0', 'g1', 'm']);
  });
});

suite('a fleet whose pods are replaced one by one', () => {
  test('completes a soak', () => {
    const fleet = new Fleet({ waves: [{ name: 'all', soak: '30m' }] }, twenty).look().well(...all);
    for (let round = 0; round < 5 && fleet.rollout.phase !== 'Complete'; round++) {
      fleet.look().replace(round).look();
      fleet.pass(1).well(round).look();
      fleet.pass(9);
    }
    assert.equal(fleet.rollout.phase, 'Complete');
  });

  test("doesn't fail for new pods", () => {
    const fleet = new Fleet(canary, twenty).look().well(...all.slice(1));
    for (const index of all) {
      fleet.replace(index).look().pass(2);
      fleet.well(index);
    }
    fleet.look();
    assert.deepEqual([fleet.rollout.failures, fleet.rollout.phase], [undefined, 'Complete']);
  });

  test("fails for pods that don't become healthy, even during a soak", () => {
    const fleet = new Fleet({ waves: [{ name: 'all', soak: '60m' }] }, [[true], [true], [true]]).look();
    fleet.well(0, 1, 2).look();
    fleet.replace(1, 'broken').look();
    assert.equal(fleet.rollout.phase, 'Soaking');
    for (let minute = 0; minute < 40; minute++) fleet.pass(1).look();
    assert.deepEqual(fleet.rollout.failures, ['broken']);
    assert.match(fleet.rollout.summary, /^stopped in all/);
  });
});

suite('the canary of a rollout', () => {
  test("is replaced only once, so a commit that kills pods doesn't spread through the fleet", () => {
    const fleet = new Fleet({ waves: [{ name: 'canary', gateways: 1 }] }, twenty);
    const had = new Set<string>();
    for (let round = 0; round < 20; round++) {
      fleet.look();
      for (const name of fleet.letIn.filter((each) => isCanary(fleet, each))) had.add(name);
      fleet.gateways = fleet.gateways.filter(({ name }) => !had.has(name));
    }
    assert.equal(had.size, 2);
    assert.equal(fleet.rollout.waitsFor, 'Gateways');
    assert.equal(fleet.rollout.waitsFor, 'Gateways');
  });

  test('keeps the next wave from starting if it is deleted before that, even if it was healthy', () => {
    const fleet = new Fleet(canary, two).set({ window: { isOpen: true, message: '' } });
    fleet.look().well(0).look('B', shut);
    fleet.remove(0);
    fleet.look();
    assert.equal(fleet.rollout.admission[1]?.admitted, '');
    assert.equal(fleet.rollout.waitsFor, 'Gateways');
    assert.match(fleet.message, / canary\b/);
  });

  test('stops further admissions to the next wave if it is no longer healthy', () => {
    const fleet = new Fleet({ waves: [{ name: 'canary' }, { name: 'others', maxConcurrent: 1 }] }, [
      [true, true],
      ...Array.from({ length: 4 }, () => [false, true]),
    ]);
    fleet.look().well(0).look();
    assert.equal(fleet.rollout.wave, 'others');
    fleet.change(0, { notReadySince: fleet.now }).well(1).look();
    const { admission, message = '' } = fleet.rollout;
    assert.deepEqual([admission[0]?.admitted, admission[1]?.admitted], [ALL, '11']);
    assert.match(message, / g0 .* canary\b/);
  });
});

const isCanary = ({ gateways, rollout }: Fleet, name: string): boolean =>
  gateways.some(({ key, ...each }) => each.name === name && isWithin(key, rollout.admission[0]?.members ?? ''));

test('waves that are edited while the fleet is scaled to zero wait for it', () => {
  const fleet = new Fleet(canary, [[true]]);
  fleet.gateways = [];
  fleet.look().look('B', { wavesHash: 'other', spec: { waves: [{ name: 'pilot' }] } });
  fleet.look('B', { wavesHash: 'other', spec: { waves: [{ name: 'pilot' }] } });
  assert.deepEqual([fleet.rollout.phase, fleet.rollout.stableCommit], ['Progressing', 'A']);
});

test('a rollout continues while the newest commit is unknown', () => {
  const fleet = new Fleet(canary, two).look().set({ newest: undefined }).well(0).look();
  assert.deepEqual([fleet.rollout.wave, fleet.rollout.admitted], ['rest', 2]);
  fleet.well(0, 1).look();
  assert.deepEqual([fleet.rollout.phase, fleet.rollout.stableCommit], ['Complete', 'B']);
});
