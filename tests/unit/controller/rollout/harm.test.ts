import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { all, canary, Fleet, shut, twenty, two } from './fleet.ts';

suite('a harmful commit', () => {
  test("doesn't pass the soak when its gateways are recreated", () => {
    const fleet = new Fleet({ waves: [{ name: 'canary', soak: '10m' }], onFailure: 'Rollback' }, [...twenty, [false]]);
    fleet
      .look()
      .well(...all)
      .look();
    for (const index of all.slice(5)) {
      fleet.replace(index, `n${index}`).hasIt(index);
    }
    fleet.look();
    for (let minute = 0; minute < 14; minute += 1) fleet.pass(1).look();
    assert.equal(fleet.rollout.admission[1]?.admitted, '');
    fleet.pass(2).look();
    assert.equal(fleet.rollout.phase, 'RollingBack');
  });

  test("isn't complete while its canary is down", () => {
    const fleet = new Fleet({ waves: [{ name: 'canary' }], onFailure: 'Rollback' }, two).look().well(0).look();
    fleet.blink(0).well(1).look();
    assert.equal(fleet.rollout.phase, 'Progressing');
    fleet.pass(15).look();
    assert.deepEqual([fleet.rollout.phase, fleet.rollout.failures], ['RollingBack', ['g0']]);
  });

  test('fails on a gateway that crashes again and again, but is healthy in between', () => {
    const fleet = new Fleet({ waves: [{ name: 'canary' }, { name: 'all', maxConcurrent: 1 }] }, [
      [true, true],
      ...Array.from({ length: 9 }, () => [false, true]),
    ]);
    fleet.look().well(0).look();
    for (let round = 0; round < 3; round += 1) {
      fleet.crash(0).look();
      fleet.pass(4).well(0, 1).look();
      fleet.pass(2);
    }
    assert.equal(fleet.rollout.admission[1]?.admitted, '11');
    fleet.look();
    assert.deepEqual(fleet.rollout.failures, ['g0']);
  });

  test('is admitted again after one crash', () => {
    const fleet = new Fleet({ waves: [{ name: 'canary' }] }, two).look().crash(0).look().well(0).look();
    assert.equal(fleet.rollout.verified, 0);
    fleet.pass(8).look();
    assert.equal(fleet.rollout.wave, 'rest');
  });
});

test('a renamed wave waits for its gateways, which can be late', () => {
  const fleet = new Fleet(canary, two).look();
  const pilot = { wavesHash: 'other', spec: { waves: [{ name: 'pilot' }] } };
  fleet.changeAll({ fits: [false] }).look('B', pilot);
  assert.deepEqual([fleet.rollout.waitsFor, fleet.rollout.admission[1]?.admitted], ['Gateways', '']);
  fleet.pass(15).look('B', pilot);
  assert.equal(fleet.rollout.wave, 'rest');
});

test('a gateway keeps its commit when a percentage would select others', () => {
  const waves = [
    { name: 'canary', gateways: 2 },
    { name: 'all', maxConcurrent: 5 },
  ];
  const fleet = new Fleet(
    { waves },
    Array.from({ length: 10 }, () => [true, true]),
  );
  fleet.look().well(0, 1).look();
  fleet.well(2, 3, 4).look();
  fleet.remove(0, 2);
  const before = fleet.rollout.admitted;
  fleet.look('B', shut);
  assert.equal(fleet.rollout.admitted, before - 2);
});
