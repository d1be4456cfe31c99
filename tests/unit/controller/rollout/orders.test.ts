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

test('what names nothing that there is changes nothing', () => {
  const world = settle({ ...settle(makeWorld(setup)), wanted: 'A' });
  for (const order of [{ rollback: 'f'.repeat(40) }, { retry: 'A' }, { retry: 'S' }])
    assert.equal(stateOf(settle({ ...world, ...order })), 'Complete A A');
});
