import assert from 'node:assert/strict';
import { test } from 'node:test';
import { apply, control, deliver, makeWorld, read, type Setup, type World, withAgent } from './model.ts';

const setup: Setup = {
  spec: { waves: [{ name: 'canary', gateways: 2, soak: '1s' }] },
  fits: [[true], [true], [true]],
  bad: ['B'],
};
const begun = (world: World) => control({ ...control(world, setup), wanted: 'A' }, setup);
const sync = (world: World, index: number) => deliver(apply(read(world, index, setup), index, setup), index);
const said = ({ state }: World) => [state?.rollout.summary, state?.rollout.message?.replace(/\d{4}-\S+Z/, 'then')];

test('says who is waited for, and since when', () => {
  let world = begun(makeWorld(setup));
  assert.deepEqual(said(world), ['canary 0/2', 'the wave canary waits for g0, g1, since then']);
  world = control(sync(world, 0), setup);
  assert.deepEqual(said(world), ['canary 1/2', 'the wave canary waits for g1, since then']);
  world = control(sync(world, 1), setup);
  assert.deepEqual(said(world), ['canary 2/2, soaking 1s', 'the wave canary is verified, and soaks since then']);
});

test('says who is skipped, since it was not ready before', () => {
  const world = begun(withAgent(makeWorld(setup), 1, { notReadySince: 5 }));
  assert.deepEqual(said(world), [
    'canary 0/2',
    'the wave canary waits for g0, since then; skipped, since not ready before: g1',
  ]);
  assert.equal(said(control(sync(world, 0), setup))[0], 'canary 1/2, soaking 1s');
});

test('says which commit waits, and for what', () => {
  const gated = { ...setup, spec: { waves: [{ name: 'canary', approval: true }] } } as Setup;
  const world = control({ ...control(makeWorld(gated), gated), wanted: 'A' }, gated);
  assert.equal(said(world)[0], 'complete; A waits');
  assert.match(said(world)[1] ?? '', /^commit A waits since then: somebody has to approve it/);
});
