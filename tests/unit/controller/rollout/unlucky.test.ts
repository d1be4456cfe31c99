import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { canary, Fleet, three, two } from './fleet.ts';
import { History } from './history.ts';
import { DEADLINE_MS, makeWorld, type Setup, SOAK_MS } from './model.ts';

const setupOf = (more: object = {}, fits = two): Setup => ({
  spec: { waves: [{ name: 'canary' }], ...more },
  fits,
  bad: ['B'],
});

test("a canary that breaks in the second in which the rollout began isn't skipped", () => {
  const setup = setupOf();
  const history = new History(setup, { ...makeWorld(setup), now: 1100 }).begin();
  history.later(500).agent({ notReadySince: 1000 }, 0).control();
  assert.equal(history.rollout.wave, 'canary');
  assert.match(history.message, /waiting for g0/);
});

test('an agent that restarts during the soak gets the whole duration again', () => {
  const history = new History(setupOf({ waves: [{ name: 'canary', soak: '1s' }] })).begin().sync(0).control();
  const { seen } = history.world.agents[0] ?? {};
  history
    .later(SOAK_MS - 1)
    .agent({ seen: seen && { ...seen, rollout: undefined, state: 'busy' } }, 0)
    .control();
  assert.equal(history.rollout.phase, 'Progressing');
  history
    .agent({ seen }, 0)
    .later(DEADLINE_MS - 1)
    .control();
  assert.equal(history.rollout.phase, 'Soaking');
});

for (const first of ['healthy', 'busy'] as const) {
  test(`a flapping gateway, ${first} at first, doesn't keep another one from failing, and fails no earlier itself`, () => {
    const history = new History(setupOf({ maxFailures: 1 }, three)).begin().sync(0).control();
    const { seen } = history.world.agents[0] ?? {};
    const second = first === 'busy' ? 'healthy' : 'busy';
    for (const [ms, state] of [
      [DEADLINE_MS / 2, first],
      [DEADLINE_MS / 2 - 1, second],
    ] as const)
      history
        .later(ms)
        .agent({ seen: seen && { ...seen, state } }, 0)
        .control();
    assert.deepEqual([history.rollout.phase, history.rollout.failures], ['Progressing', undefined]);
    assert.deepEqual(history.later(1).control().rollout.failures, ['g1']);
  });
}

test('a clock that was ahead delays no gateway', () => {
  const setup = setupOf({ onFailure: 'Rollback' });
  const history = new History(setup, { ...makeWorld(setup), now: 1e9 }).begin('B').sync(0).control();
  assert.equal(history.rollout.phase, 'RollingBack');
  history.control({ now: 5000 }).later(DEADLINE_MS).control();
  assert.equal(history.rollout.phase, 'RolledBack');
});

suite('after a clock was set back', () => {
  const hour = 3_600_000;
  const situations: [what: string, () => Fleet][] = [
    [
      'while a wave soaks',
      () => new Fleet({ waves: [{ name: 'canary', soak: '10m' }] }, three).look().well(0, 1).look(),
    ],
    ['while one crashes', () => new Fleet(canary, two).look().crash(0).look()],
    [
      'while a wave waits for a gateway',
      () => {
        const fleet = new Fleet(canary, two).look().remove(0).look();
        return fleet;
      },
    ],
  ];
  for (const [what, make] of situations) {
    test(`${what} leaves no future time, and changes nothing else`, () => {
      const fleet = make();
      const { rollout: before } = fleet;
      fleet.now -= hour;
      fleet.look();
      const times = Object.entries(fleet.rollout).filter(([key]) => /(At|Since)$/.test(key));
      const now = new Date(fleet.now).toISOString();
      assert.deepEqual(
        times,
        times.map(([key]) => [key, now]),
      );
      assert.ok(times.length >= 3);
      assert.deepEqual(
        [fleet.rollout.phase, fleet.rollout.wave, fleet.rollout.admission],
        [before.phase, before.wave, before.admission],
      );
    });
  }
});

test("a skipped gateway frees its place when it hasn't been ready for the length of the deadline", () => {
  const fleet = new Fleet({ waves: [{ name: 'all', maxConcurrent: 1 }] }, [[true], [true], [true]]);
  fleet.blink(0).pass(5).look();
  assert.equal(fleet.rollout.admission[0]?.admitted, '10');
  fleet.pass(9).look();
  assert.equal(fleet.rollout.admission[0]?.admitted, '10');
  fleet.pass(1).look();
  assert.equal(fleet.rollout.admission[0]?.admitted, '11');
});

test("a gateway that wasn't ready before frees its place after the deadline, with a check at that time", () => {
  const fleet = new Fleet({ waves: [{ name: 'all', maxConcurrent: 1 }] }, [[true], [true]]);
  fleet.blink(1).pass(5).look();
  assert.deepEqual(fleet.letIn, ['g0']);
  fleet.now += 598_000;
  fleet.look();
  assert.deepEqual(fleet.letIn, ['g0', 'g1']);
});

test('a rollout whose wave is unknown begins again', () => {
  const fleet = new Fleet(canary, two).look().well(0).look();
  const { number, wave } = fleet.rollout;
  assert.equal(wave, 'rest');
  fleet.state = { ...fleet.rollout, wave: 'gone' };
  fleet.look();
  const { number: next, phase, wave: first, admission, commit } = fleet.rollout;
  assert.deepEqual([next, phase, first, commit], [number + 1, 'Progressing', 'canary', 'B']);
  assert.deepEqual(
    admission.map(({ admitted }) => admitted),
    ['all', ''],
  );
});

test("unready gateways don't increase the number admitted at once", () => {
  const setup = setupOf({ waves: [{ name: 'canary', maxConcurrent: 1 }] }, Array(6).fill([true]));
  assert.equal(new History(setup).agent({ notReadySince: 999 }, 3, 4).begin().rollout.admitted, 1);
});

test('state from before spec.rollout was removed causes no failure', () => {
  const { number } = new History(setupOf()).begin().rollout;
  const left = { rollout: number, commit: 'S', revision: 'r', state: 'failed' } as const;
  const history = new History(setupOf()).later(60_000).agent({ report: left, seen: left }, 0).begin().control();
  assert.equal(history.rollout.phase, 'Progressing');
});
