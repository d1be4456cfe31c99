import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sync } from './agents.ts';
import { type Commit, control, makeWorld, type Setup, type World } from './model.ts';

const setup: Setup = { spec: { waves: [{ name: 'one', gateways: 1 }] }, fits: [[true], [true]], bad: ['B'] };

/** Reconciles until nothing changes. */
function settle(world: World): World {
  let next = world;
  for (let turn = 0; turn < 8; turn += 1) {
    next = control(next, setup);
    for (const index of next.agents.keys()) next = sync(next, index, setup);
  }
  return next;
}

const stateOf = ({ state }: World) => [state?.phase, state?.commit, state?.stableCommit].join(' ');

test('an annotation counts once, and again after it was removed', () => {
  let world = settle({ ...settle(makeWorld(setup)), wanted: 'A' });
  assert.equal(stateOf(world), 'Complete A A');
  world = settle({ ...world, rollback: 'previous' });
  assert.equal(stateOf(world), 'RolledBack A S');
  // Other annotations change in the meantime.
  world = settle({ ...world, retry: 'A' });
  assert.equal(stateOf(world), 'Complete A A');
  world = settle({ ...settle({ ...world, rollback: undefined }), rollback: 'previous' });
  assert.equal(stateOf(world), 'RolledBack A S');
});

test('a stopped rollout is retried once', () => {
  let world = settle({ ...settle(makeWorld(setup)), wanted: 'B' });
  assert.equal(stateOf(world), 'Stopped B S');
  const { number = 0 } = world.state ?? {};
  world = settle({ ...world, retry: 'B' });
  assert.equal(stateOf(world), 'Stopped B S');
  assert.equal(world.state?.number, number + 1);
});

test('a command about an unknown release changes nothing, which is reported until it is gone', () => {
  const world = settle({ ...settle(makeWorld(setup)), wanted: 'A' });
  for (const order of [{ rollback: 'g-7' }, { rollback: 'S' }, { retry: 'A' }, { retry: 'S' }]) {
    const ignored = settle({ ...world, ...order });
    assert.equal(stateOf(ignored), 'Complete A A');
    assert.match(ignored.state?.message ?? '', /sync\.io\/(rollback: (g-7|S)|retry-rollout: [AS]) /);
    const gone = settle({ ...ignored, rollback: undefined, retry: undefined });
    assert.doesNotMatch(gone.state?.message ?? '', /effect/);
  }
});

test('the stable release can be named while another one is in progress or stopped', () => {
  for (const commit of ['A', 'B'] as const) {
    const begun = control({ ...control(makeWorld(setup), setup), wanted: commit }, setup);
    const world = commit === 'B' ? settle(begun) : begun;
    assert.equal(stateOf(settle({ ...world, rollback: 'g-1' })), `RolledBack ${commit} S`);
  }
});

test('a commit that arrives together with the rollback command is rolled back as well', () => {
  const complete = settle({ ...settle(makeWorld(setup)), wanted: 'A' });
  const world = settle({ ...complete, rollback: 'previous', wanted: 'C' });
  assert.equal(stateOf(world), 'RolledBack A S');
  assert.match(world.state?.message ?? '', / sync\.io\/retry-rollout: C, /);
  assert.equal(stateOf(settle({ ...world, retry: 'C' })), 'Complete C C');
});

test('a commit that was waiting before continues to wait', () => {
  const complete = settle({ ...settle(makeWorld(setup)), wanted: 'A' });
  const waiting = settle({ ...complete, isOpen: false, wanted: 'C' });
  const world = settle({ ...waiting, rollback: 'previous' });
  assert.equal(stateOf(world), 'RolledBack A S');
  assert.equal(stateOf(settle({ ...world, isOpen: true })), 'Complete C C');
});

/** The labels of the releases, in the order of their numbers. */
const resultsOf = ({ releases }: World) =>
  releases.map(({ release, commit, result }) => `${release} ${commit} ${result}`);

/** Orders another rollback; the previous annotation was removed before. */
const rollBack = (world: World, rollback: string): World =>
  settle({ ...settle({ ...world, rollback: undefined }), rollback });

/** `S`, then `A`, then `C`. */
const threeCommits = settle({ ...settle({ ...settle(makeWorld(setup)), wanted: 'A' }), wanted: 'C' });

test('a rollback rejects the release that it leaves, and each one goes one release further back', () => {
  assert.deepEqual(resultsOf(threeCommits), ['g-1 S Complete', 'g-2 A Complete', 'g-3 C Complete']);
  const once = rollBack(threeCommits, 'previous');
  assert.equal(stateOf(once), 'RolledBack C A');
  assert.deepEqual(resultsOf(once), ['g-1 S Complete', 'g-2 A Complete', 'g-3 C Rejected']);
  const { givenUp, stableRef, stableRevision, stableRelease } = once.state ?? {};
  assert.deepEqual([givenUp, stableRef, stableRevision, stableRelease], [['C r'], 'main', 'r', 'g-2']);
  const twice = rollBack(once, 'previous');
  assert.equal(stateOf(twice), 'RolledBack C S');
  assert.deepEqual(resultsOf(twice), ['g-1 S Complete', 'g-2 A Rejected', 'g-3 C Rejected']);
  const further = rollBack(twice, 'previous');
  assert.deepEqual([stateOf(further), resultsOf(further)], ['RolledBack C S', resultsOf(twice)]);
  assert.deepEqual(further.state?.handled?.ignored, ['rollback']);
});

test('a rollback past several releases rejects all of them', () => {
  const back = rollBack(threeCommits, 'g-1');
  assert.equal(stateOf(back), 'RolledBack C S');
  assert.deepEqual(resultsOf(back), ['g-1 S Complete', 'g-2 A Rejected', 'g-3 C Rejected']);
});

test('one rollback too many is undone by naming a newer release', () => {
  const twice = rollBack(threeCommits, 'g-1');
  assert.equal(stateOf(twice), 'RolledBack C S');
  const forward = rollBack(twice, 'g-2');
  assert.equal(stateOf(forward), 'RolledBack C A');
  // The newest commit needs no approval after a user has named it.
  const newest = rollBack(forward, 'g-3');
  assert.equal(stateOf(newest), 'Complete C C');
  assert.ok(newest.agents.every(({ holds }) => holds === 'C'));
  assert.equal(stateOf(rollBack(newest, 'g-2')), 'RolledBack C A');
});

test("a commit that is rolled forward to doesn't count as rolled back", () => {
  const elsewhere = { ...rollBack(threeCommits, 'g-1'), wanted: 'B' as const };
  const forward = rollBack({ ...settle(elsewhere), retry: undefined }, 'g-3');
  assert.equal(forward.state?.stableCommit, 'C');
  assert.ok(!forward.state?.givenUp?.includes('C r'));
  assert.ok(forward.agents.every(({ holds }) => holds === 'C'));
});

test('after a rollback and a newer commit, the previous one is the one that the gateways had', () => {
  const back = rollBack(settle({ ...settle(makeWorld(setup)), wanted: 'A' }), 'previous');
  assert.equal(stateOf(back), 'RolledBack A S');
  const newer = settle({ ...back, rollback: undefined, wanted: 'C' });
  assert.equal(stateOf(newer), 'Complete C C');
  assert.deepEqual(resultsOf(newer), ['g-1 S Complete', 'g-2 A Rejected', 'g-3 C Complete']);
  assert.equal(stateOf(rollBack(newer, 'previous')), 'RolledBack C S');
});

test('a commit that was rolled back stays so, however far later rollbacks go', () => {
  const fleet = { ...setup, spec: {}, fits: [] };
  let world: World = { ...makeWorld(fleet), wanted: undefined };
  const order = (change: Partial<World>) => {
    world = { ...world, ...change };
    for (let turn = 0; turn < 8; turn += 1) world = control(world, fleet);
    return world.state?.stableCommit;
  };
  for (const commit of 'ABCDEFGH') order({ wanted: commit as Commit });
  // It arrived together with the first order, so it is abandoned as well.
  const wanted = 'W' as Commit;
  for (const commit of 'GFEDCBA') {
    assert.equal(order({ wanted, rollback: 'previous' }), commit);
    assert.equal(order({ rollback: undefined }), commit);
  }
});
