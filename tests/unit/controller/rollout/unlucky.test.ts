import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { sync, withAgent } from './agents.ts';
import { canary, Fleet, three, two } from './fleet.ts';
import {
  begun,
  control,
  DEADLINE_MS,
  later,
  makeWorld,
  messageOf,
  rolloutOf,
  type Setup,
  SOAK_MS,
  type World,
} from './model.ts';

const setupOf = (more: object = {}, fits = two): Setup => ({
  spec: { waves: [{ name: 'canary' }], ...more },
  fits,
  bad: ['B'],
});

/** Reconciles until nothing changes. */
function settle(world: World, setup: Setup): World {
  let next = world;
  for (let turn = 0; turn < 8; turn += 1) {
    next = control(next, setup);
    for (const index of next.agents.keys()) next = sync(next, index, setup);
  }
  return next;
}

test("a canary that breaks in the second in which the rollout began isn't skipped", () => {
  const setup = setupOf();
  let world = begun(setup, 'A', { ...makeWorld(setup), now: 1100 });
  world = control(withAgent(later(world, 500), 0, { notReadySince: 1000 }), setup);
  assert.equal(rolloutOf(world).wave, 'canary');
  assert.match(messageOf(world), /waiting for g0/);
});

test('an agent that restarts during the soak gets the whole duration again', () => {
  const setup = setupOf({ waves: [{ name: 'canary', soak: '1s' }] });
  let world = control(sync(begun(setup), 0, setup), setup);
  const { seen } = world.agents[0] ?? {};
  world = later(world, SOAK_MS - 1);
  world = control(withAgent(world, 0, { seen: seen && { ...seen, rollout: undefined, state: 'busy' } }), setup);
  assert.equal(rolloutOf(world).phase, 'Progressing');
  world = control(later(withAgent(world, 0, { seen }), DEADLINE_MS - 1), setup);
  assert.equal(rolloutOf(world).phase, 'Soaking');
});

for (const first of ['healthy', 'busy'] as const) {
  test(`a flapping gateway, ${first} at first, doesn't keep another one from failing, and fails no earlier itself`, () => {
    const setup = setupOf({ maxFailures: 1 }, three);
    let world = control(sync(begun(setup), 0, setup), setup);
    const { seen } = world.agents[0] ?? {};
    const second = first === 'busy' ? 'healthy' : 'busy';
    for (const [ms, state] of [
      [DEADLINE_MS / 2, first],
      [DEADLINE_MS / 2 - 1, second],
    ] as const)
      world = control(withAgent(later(world, ms), 0, { seen: seen && { ...seen, state } }), setup);
    assert.deepEqual([rolloutOf(world).phase, rolloutOf(world).failures], ['Progressing', undefined]);
    world = control(later(world, 1), setup);
    assert.deepEqual(rolloutOf(world).failures, ['g1']);
  });
}

test('two rollbacks go back twice, never forward', () => {
  const setup = setupOf();
  let world = settle(begun(setup), setup);
  world = settle({ ...world, wanted: 'C' }, setup);
  assert.equal(rolloutOf(world).stableCommit, 'C');
  for (const expected of ['A', 'S']) {
    world = settle({ ...settle({ ...world, rollback: undefined }, setup), rollback: 'previous' }, setup);
    assert.equal(rolloutOf(world).stableCommit, expected);
  }
});

test("a failed commit isn't retried because the git server briefly shows another one", () => {
  const setup = setupOf({ onFailure: 'Rollback' });
  let world = settle(begun(setup, 'B'), setup);
  assert.equal(rolloutOf(world).phase, 'RolledBack');
  world = settle({ ...world, wanted: 'S' }, setup);
  world = settle({ ...world, wanted: 'B' }, setup);
  assert.deepEqual([rolloutOf(world).commit, rolloutOf(world).nextCommit], ['S', 'B']);
  assert.match(messageOf(world), /to retry/);
  assert.equal(rolloutOf(control({ ...world, retry: 'B' }, setup)).commit, 'B');
});

test('a clock that was ahead delays no gateway', () => {
  const setup = setupOf({ onFailure: 'Rollback' });
  const ahead = { ...makeWorld(setup), now: 1e9 };
  let world = control(sync(begun(setup, 'B', ahead), 0, setup), setup);
  assert.equal(rolloutOf(world).phase, 'RollingBack');
  world = control({ ...world, now: 5000 }, setup);
  assert.equal(rolloutOf(control(later(world, DEADLINE_MS), setup)).phase, 'RolledBack');
});

suite('after a clock was set back', () => {
  const hour = 3_600_000;
  const situations: [what: string, () => Fleet][] = [
    [
      'while a wave soaks',
      () => {
        const fleet = new Fleet({ waves: [{ name: 'canary', soak: '10m' }] }, three).look().well(0, 1).look();
        return fleet;
      },
    ],
    [
      'while one crashes',
      () => {
        const fleet = new Fleet(canary, two).look().crash(0).look();
        return fleet;
      },
    ],
    [
      'while a wave waits for a gateway',
      () => {
        const fleet = new Fleet(canary, two).look();
        fleet.gateways.splice(0, 1);
        fleet.look();
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
  assert.deepEqual([fleet.rollout.admission[0]?.admitted, fleet.wakeInMs], ['10', 58_000]);
  fleet.pass(1).look();
  assert.equal(fleet.rollout.admission[0]?.admitted, '11');
});

test("a gateway that wasn't ready before frees its place after the deadline, with a check at that time", () => {
  const fleet = new Fleet({ waves: [{ name: 'all', maxConcurrent: 1 }] }, [[true], [true]]);
  fleet.blink(1).pass(5).look();
  assert.deepEqual([fleet.letIn, fleet.wakeInMs], [['g0'], 599_000]);
  fleet.now += 598_000;
  fleet.look();
  assert.deepEqual(fleet.letIn, ['g0', 'g1']);
});

test('a rollout whose wave is unknown begins again', () => {
  const fleet = new Fleet(canary, two).look().well(0).look();
  const { number, wave } = fleet.rollout;
  assert.equal(wave, 'rest');
  fleet.state = { history: [], rollout: { ...fleet.rollout, wave: 'gone' } };
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
  let world = makeWorld(setup);
  world = begun(setup, 'A', withAgent(withAgent(world, 3, { notReadySince: 999 }), 4, { notReadySince: 999 }));
  assert.equal(rolloutOf(world).admitted, 1);
});

test('state from before spec.rollout was removed causes no failure', () => {
  const setup = setupOf();
  const { number } = rolloutOf(begun(setup));
  const left = { rollout: number, commit: 'S', revision: 'r', state: 'failed' } as const;
  const world = begun(setup, 'A', withAgent(later(makeWorld(setup), 60_000), 0, { report: left, seen: left }));
  assert.equal(rolloutOf(control(world, setup)).phase, 'Progressing');
});
