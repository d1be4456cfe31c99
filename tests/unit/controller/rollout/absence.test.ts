import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ALL } from '../../../../shared/domain/waves.ts';
import { sync, withAgent } from './agents.ts';
import { fitting } from './fleet.ts';
import {
  type Agent,
  admittedIn,
  begun,
  control,
  DEADLINE_MS,
  later,
  makeWorld,
  messageOf,
  rolloutOf,
  type Setup,
} from './model.ts';

const canary = { waves: [{ name: 'canary' }] };
const setupOf = (more: object = {}, fits = [[true], [false], [false]]): Setup => ({
  spec: { ...canary, ...more },
  fits,
  bad: ['B'],
});
const gone: Partial<Agent> = { createdAt: undefined, report: undefined, seen: undefined, aim: undefined };

test('a canary that is deleted during its wave holds the commit back until another one is verified', () => {
  const setup = setupOf();
  let world = control(withAgent(begun(setup), 0, gone), setup);
  assert.deepEqual(
    [rolloutOf(world).phase, rolloutOf(world).wave, admittedIn(world)[1]],
    ['Progressing', 'canary', ''],
  );
  world = control(later(world, 9 * DEADLINE_MS), setup);
  assert.equal(rolloutOf(world).phase, 'Progressing');
  world = control(withAgent(world, 0, { createdAt: world.now }), setup);
  assert.equal(rolloutOf(world).phase, 'Progressing');
  world = control(sync(world, 0, setup), setup);
  assert.deepEqual(admittedIn(world), [ALL, ALL]);
});

test('a canary that is absent when the commit comes is waited for', () => {
  const setup = setupOf();
  const before = control(withAgent(control(makeWorld(setup), setup), 0, gone), setup);
  const world = control({ ...before, wanted: 'A' }, setup);
  assert.deepEqual(admittedIn(world), ['', '']);
});

test('a fleet without gateways waits for one, and continues when there is one', () => {
  const setup = setupOf();
  let world = begun(setup);
  for (const index of [0, 1, 2]) world = withAgent(world, index, gone);
  world = control(later(world, 9 * DEADLINE_MS), setup);
  assert.deepEqual([rolloutOf(world).phase, rolloutOf(world).stableCommit], ['Progressing', 'S']);
  for (const index of [0, 1, 2]) world = withAgent(world, index, { createdAt: world.now });
  world = control(sync(control(world, setup), 0, setup), setup);
  for (const index of [1, 2]) world = sync(world, index, setup);
  assert.equal(rolloutOf(control(world, setup)).phase, 'Complete');
});

test('a fleet that never had a gateway waits for none', () => {
  const setup = setupOf();
  let empty = makeWorld(setup);
  for (const index of [0, 1, 2]) empty = withAgent(empty, index, gone);
  assert.equal(rolloutOf(begun(setup, 'A', empty)).phase, 'Complete');
});

test('the last wave needs no gateway if it had none for the length of the deadline, and others are healthy', () => {
  const setup = setupOf();
  let world = begun(setup);
  for (const index of [1, 2]) world = withAgent(world, index, gone);
  world = control(sync(world, 0, setup), setup);
  assert.deepEqual([rolloutOf(world).phase, rolloutOf(world).waitsFor], ['Progressing', 'Gateways']);
  world = control(later(world, DEADLINE_MS), setup);
  assert.deepEqual([rolloutOf(world).phase, rolloutOf(world).stableCommit], ['Complete', 'A']);
});

for (const [when, isGoneBefore] of [
  ['before the rollout', true],
  ['in mid-wave', false],
] as const) {
  test(`a last wave whose gateway took the place of one that left ${when} isn't waited for`, () => {
    const waves = [
      { name: 'canary', gateways: 1 },
      { name: 'second', gateways: 1 },
    ];
    const setup = setupOf({ waves }, Array(3).fill([true, true]));
    const first = control(makeWorld(setup), setup);
    let world = isGoneBefore
      ? begun(setup, 'A', withAgent(first, 0, gone))
      : withAgent(begun(setup, 'A', first), 0, gone);
    for (const index of [1, 2]) world = control(sync(control(world, setup), index, setup), setup);
    world = control(withAgent(world, 0, { createdAt: world.now }), setup);
    world = control(sync(world, 0, setup), setup);
    assert.deepEqual([rolloutOf(world).phase, rolloutOf(world).stableCommit], ['Complete', 'A']);
  });
}

test('a last wave that lost one of two gateways to another wave waits for the other', () => {
  const setup = setupOf({ waves: [{ name: 'canary', gateways: 1 }] }, Array(3).fill([true]));
  let world = control(sync(begun(setup), 0, setup), setup);
  for (const index of [1, 2]) world = control(sync(world, index, setup), setup);
  world = withAgent(withAgent(world, 0, gone), 2, gone);
  world = control(sync(begun(setup, 'C', world), 1, setup), setup);
  assert.deepEqual([rolloutOf(world).phase, rolloutOf(world).waitsFor], ['Progressing', 'Gateways']);
});

for (const [how, change] of [
  ['are created again', gone],
  ['are paused', { isResting: true }],
] as const) {
  test(`a last wave whose gateways all ${how} during the wave isn't complete because of that`, () => {
    const setup = setupOf(
      { waves: [{ name: 'canary' }, { name: 'all', maxConcurrent: 1 }] },
      fitting('10', '01', '01'),
    );
    let world = control(sync(begun(setup), 0, setup), setup);
    for (const index of [1, 2]) world = withAgent(world, index, change);
    world = control({ ...world, isOpen: false }, setup);
    world = control(later(world, 9 * DEADLINE_MS), setup);
    assert.deepEqual([rolloutOf(world).phase, rolloutOf(world).stableCommit], ['Progressing', 'S']);
    assert.deepEqual([rolloutOf(world).waitsFor, admittedIn(world)[1]], ['Gateways', '10']);
  });
}

test('a wave that has a gateway for a moment before its turn needs one', () => {
  const setup = setupOf({ waves: [{ name: 'canary' }, { name: 'east' }] }, fitting('10', '01', '00'));
  const start = withAgent(makeWorld(setup), 1, gone);
  for (const [comes, wave] of [
    [false, 'rest'],
    [true, 'east'],
  ] as const) {
    let world = begun(setup, 'A', start);
    if (comes) world = control(withAgent(world, 1, { createdAt: world.now }), setup);
    world = control(sync(withAgent(world, 1, gone), 0, setup), setup);
    assert.equal(rolloutOf(world).wave, wave);
  }
});

test('unready gateways are admitted when the others have the commit', () => {
  const setup = setupOf({ waves: [{ name: 'all', maxConcurrent: 1 }] }, [[true], [true], [true]]);
  let world = begun(setup);
  for (const index of [1, 2]) world = withAgent(world, index, { isResting: true });
  world = control(world, setup);
  assert.equal(admittedIn(world)[0], '00');
  assert.equal(rolloutOf(control(sync(world, 0, setup), setup)).phase, 'Complete');
});

test('a percentage applies to gateways that count, and to others when they are gone', () => {
  const setup = setupOf({ waves: [{ name: 'canary', gateways: 1 }] }, [[true], [true], [true]]);
  let world = begun(setup, 'A', withAgent(makeWorld(setup), 0, { isResting: true }));
  assert.deepEqual(
    rolloutOf(world).admission.map(({ members }) => members),
    ['10', ALL],
  );
  world = control(withAgent(world, 1, gone), setup);
  assert.deepEqual(rolloutOf(world).admission[0], {
    wave: 'canary',
    members: '20',
    of: 1,
    admitted: ALL,
    gateways: 1,
    isChosenAgain: true,
  });
  assert.equal(admittedIn(world)[1], '');
});

test('replacements are admitted only once a window is open', () => {
  const setup = setupOf({ waves: [{ name: 'canary', gateways: 1 }] }, [[true], [true], [true]]);
  const world = control({ ...withAgent(begun(setup), 0, gone), isOpen: false }, setup);
  assert.deepEqual(rolloutOf(world).admission[0], {
    wave: 'canary',
    members: '10',
    of: 2,
    admitted: '00',
    gateways: 1,
    isChosenAgain: true,
  });
});

test('the replacement of a canary has to be healthy', () => {
  const setup = setupOf({}, [[true], [true], [false]]);
  let world = control(sync(begun(setup), 0, setup), setup);
  const createdAt = world.now + 10;
  world = later(withAgent(world, 1, { createdAt, notReadySince: createdAt, report: undefined, seen: undefined }), 20);
  assert.equal(rolloutOf(control(world, setup)).wave, 'canary');
  world = control(later(control(world, setup), 2 * DEADLINE_MS), setup);
  assert.equal(rolloutOf(world).phase, 'Stopped');
});

test('an additional gateway that never starts delays no other', () => {
  const setup = setupOf({}, [[true], [true], [true], [false]]);
  let world = begun(setup, 'A', withAgent(makeWorld(setup), 2, gone));
  const createdAt = world.now + 10;
  world = later(withAgent(world, 2, { createdAt, notReadySince: createdAt }), 20);
  world = control(sync(sync(world, 0, setup), 1, setup), setup);
  assert.equal(rolloutOf(world).wave, 'rest');
});

test("a wave on which the commit failed everywhere isn't complete, whatever maxFailures is", () => {
  const setup = setupOf({ maxFailures: 5 });
  const world = control(sync(begun(setup, 'B'), 0, setup), setup);
  assert.deepEqual([rolloutOf(world).phase, admittedIn(world)[1]], ['Stopped', '']);
});

test("a gateway that wasn't ready before isn't verified, whatever its agent reports", () => {
  const setup = setupOf();
  let world = sync(begun(setup, 'A', withAgent(makeWorld(setup), 0, { notReadySince: 0 })), 0, setup);
  world = control(world, setup);
  assert.deepEqual([rolloutOf(world).wave, rolloutOf(world).verified], ['canary', 0]);
  assert.match(messageOf(world), /waiting for one of g0 to be ready/);
  world = control(withAgent(world, 0, { notReadySince: undefined }), setup);
  assert.equal(rolloutOf(world).wave, 'rest');
});

test('a canary that dies while the next wave waits is waited for again, and fails at the deadline', () => {
  const setup = setupOf({ waves: [{ name: 'canary' }, { name: 'next', approval: true }] }, fitting('10', '01'));
  let world = control(sync(begun(setup), 0, setup), setup);
  assert.equal(rolloutOf(world).phase, 'AwaitingApproval');
  world = later(world, 5 * DEADLINE_MS);
  world = control(withAgent(world, 0, { notReadySince: world.now - 1 }), setup);
  world = control({ ...world, approved: 'A' }, setup);
  assert.deepEqual([rolloutOf(world).phase, admittedIn(world)[1]], ['Progressing', '']);
  assert.match(messageOf(world), /waiting for g0 in wave canary/);
  const well = control(withAgent(world, 0, { notReadySince: undefined }), setup);
  assert.deepEqual([rolloutOf(well).wave, admittedIn(well)[1]], ['next', ALL]);
  assert.equal(rolloutOf(control(later(world, DEADLINE_MS), setup)).phase, 'Stopped');
});
