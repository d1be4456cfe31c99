import assert from 'node:assert/strict';
import { test } from 'node:test';
import { apply, control, deliver, makeWorld, read, type Setup, type World } from './model.ts';

const setup: Setup = { spec: { waves: [{ name: 'one', gateways: 1 }] }, fits: [[true], [true]], bad: ['B'] };

/** Until nothing changes any more. */
function settle(world: World): World {
  let next = world;
  for (let turn = 0; turn < 8; turn += 1) {
    next = control(next, setup);
    for (const index of next.agents.keys()) next = deliver(apply(read(next, index, setup), index, setup), index);
  }
  return next;
}

const stateOf = ({ state }: World) =>
  [state?.rollout.phase, state?.rollout.commit, state?.rollout.stableCommit].join(' ');

test('an annotation counts once, and again when it was gone', () => {
  let world = settle({ ...settle(makeWorld(setup)), wanted: 'A' });
  assert.equal(stateOf(world), 'Complete A A');
  world = settle({ ...world, rollback: 'previous' });
  assert.equal(stateOf(world), 'RolledBack A S');
  // Whatever else is annotated meanwhile.
  world = settle({ ...world, retry: 'A' });
  assert.equal(stateOf(world), 'Complete A A');
  world = settle({ ...settle({ ...world, rollback: undefined }), rollback: 'previous' });
  assert.equal(stateOf(world), 'RolledBack A S');
});

test('a rollout that stopped is tried again once', () => {
  let world = settle({ ...settle(makeWorld(setup)), wanted: 'B' });
  assert.equal(stateOf(world), 'Stopped B S');
  const { number = 0 } = world.state?.rollout ?? {};
  world = settle({ ...world, retry: 'B' });
  assert.equal(stateOf(world), 'Stopped B S');
  assert.equal(world.state?.rollout.number, number + 1);
});

test('what names nothing that there is changes nothing, which is said until it is gone', () => {
  const world = settle({ ...settle(makeWorld(setup)), wanted: 'A' });
  for (const order of [{ rollback: 'f'.repeat(40) }, { retry: 'A' }, { retry: 'S' }]) {
    const ignored = settle({ ...world, ...order });
    assert.equal(stateOf(ignored), 'Complete A A');
    assert.match(ignored.state?.rollout.message ?? '', /sync\.io\/(rollback: f{40}|retry-rollout: [AS]) had no effect/);
    const gone = settle({ ...ignored, rollback: undefined, retry: undefined });
    assert.doesNotMatch(gone.state?.rollout.message ?? '', /effect/);
  }
});

test('the stable commit can be named while another one is on its way, or stopped', () => {
  for (const commit of ['A', 'B'] as const) {
    const begun = control({ ...control(makeWorld(setup), setup), wanted: commit }, setup);
    const world = commit === 'B' ? settle(begun) : begun;
    assert.equal(stateOf(settle({ ...world, rollback: 'S' })), `RolledBack ${commit} S`);
  }
});

test('a commit that comes together with the order to go back is given up as well', () => {
  const complete = settle({ ...settle(makeWorld(setup)), wanted: 'A' });
  const world = settle({ ...complete, rollback: 'previous', wanted: 'C' });
  assert.equal(stateOf(world), 'RolledBack A S');
  assert.match(world.state?.rollout.message ?? '', /^commit C failed or was taken back/);
  assert.equal(stateOf(settle({ ...world, retry: 'C' })), 'Complete C C');
});

test('a commit that was said to wait before waits on', () => {
  const complete = settle({ ...settle(makeWorld(setup)), wanted: 'A' });
  const waiting = settle({ ...complete, isOpen: false, wanted: 'C' });
  const world = settle({ ...waiting, rollback: 'previous' });
  assert.equal(stateOf(world), 'RolledBack A S');
  assert.equal(stateOf(settle({ ...world, isOpen: true })), 'Complete C C');
});
