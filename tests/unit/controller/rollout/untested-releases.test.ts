import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RolloutSpec } from '../../../../shared/api/rollout.ts';
import { canary, Fleet, fitting, shut, three, two } from './fleet.ts';

const on = { previewMs: 30_000 };
/** Makes a preview one of a change. */
const E = { digest: 'e'.repeat(64) };

function previewing(spec: RolloutSpec, fits: boolean[][]): Fleet {
  const fleet = new Fleet(spec, fits).set(on);
  return fleet.reportAll();
}

for (const approval of [undefined, true])
  test(`a canary that the replaced commit broke is not left out of the next preview${approval ? ', nor its approval' : ''}`, () => {
    const fleet = previewing({ waves: [{ name: 'canary', ...(approval && { approval }) }] }, three).look();
    fleet.preview('B', [0]).preview('B', [1, 2], E).look();
    if (approval) fleet.approve();
    fleet.look().look();
    assert.equal(fleet.rollout.commit, 'B');
    fleet.hasIt(1).blink(1).change(1, { preview: undefined }).look().pass(2).look('C');
    fleet.preview('C', [0, 1]).preview('C', [2], E).look('C');
    assert.deepEqual([fleet.rollout.admission[0]?.isUnchanged, fleet.rollout.admission[1]?.admitted], [undefined, '']);
  });
test('a rollout ends when all gateways of an earlier wave have failed', () => {
  const waves = [{ name: 'canary' }, { name: 'mid', approval: true }];
  const fleet = new Fleet({ waves, maxFailures: 1, onFailure: 'Rollback' }, fitting('10', '01', '01'));
  fleet.look().well(0).look().fail(0).look();
  assert.equal(fleet.rollout.phase, 'RollingBack');
});
test('a last wave that lost its gateways still had some', () => {
  const f = new Fleet(canary, two).look().well(0).remove(1).look().pass(16).look();
  f.look('C').well(0).look('C');
  assert.equal(f.rollout.waitsFor, 'Gateways');
});
test('a wave without a gateway waits for the whole deadline, whatever it waited for before', () => {
  const f = previewing(canary, three).look();
  f.preview('B', [0])
    .preview('B', [1, 2], E)
    .look()
    .pass(1)
    .replace(1)
    .change(1, { isUnstarted: true, preview: undefined })
    .look();
  f.pass(20).look().pass(20).look().remove(1).look();
  assert.equal(f.rollout.admission[1]?.admitted, '');
});
test('a wave without a gateway does not end while no window is open', () => {
  const f = previewing(canary, [[true], [true], [true], [false]])
    .change(2, { isPaused: true })
    .look();
  f.preview('B', [0]).preview('B', [1, 2, 3], E).look();
  assert.deepEqual(f.letIn, ['g0', 'g1']);
  f.set({ ...on, ...shut })
    .remove(1)
    .look()
    .pass(16)
    .look()
    .change(1, { isPaused: false })
    .look();
  assert.deepEqual(f.letIn, ['g0']);
});
test('renamed waves keep the changes of gateways that are gone', () => {
  const f = previewing({ waves: [{ name: 'canary', approval: true }] }, three).look();
  f.preview('B', [0]).preview('B', [1, 2], E).look().remove(1).look();
  f.set({ ...on, spec: { waves: [{ name: 'first', approval: true }] }, wavesHash: 'q' }).look();
  assert.equal(f.rollout.waitsFor, 'Approval');
});
test('a paused gateway that reported a change counts after it is gone', () => {
  const f = previewing({ waves: [{ name: 'canary', approval: true }] }, three)
    .change(1, { isPaused: true })
    .look();
  f.preview('B', [0]).preview('B', [1, 2], E).look();
  assert.equal(f.rollout.waitsFor, 'Approval');
  f.remove(1).look();
  assert.equal(f.rollout.waitsFor, 'Approval');
});
test('a gateway that reports a change after the first admission counts after it is gone', () => {
  const waves = [{ name: 'canary' }, { name: 'prod', approval: true }];
  const f = previewing({ waves }, fitting('10', '01', '01')).look();
  f.preview('B', [0], E).preview('B', [1]).look().pass(1).look();
  f.preview('B', [2], E).look().well(0).change(0, { preview: undefined }).look();
  assert.equal(f.rollout.waitsFor, 'Approval');
  f.remove(2).look();
  assert.equal(f.rollout.waitsFor, 'Approval');
});
