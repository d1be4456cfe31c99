import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Fleet, two } from './fleet.ts';

test('a percentage wave that lost its gateways goes on with others, and keeps the time when it began', () => {
  const fleet = new Fleet({ waves: [{ name: 'some', gateways: '30%' }] }, [[true], [true], [true]]);
  fleet.look().look();
  const { waveStartedAt, admission: before } = fleet.rollout;
  fleet.pass(1).remove(0).look().look();
  const { admission, ...rollout } = fleet.rollout;
  assert.notEqual(admission[0]?.members, before[0]?.members);
  assert.deepEqual([rollout.wave, rollout.waveStartedAt], ['some', waveStartedAt]);
});

test('a release that stopped counts as shown, even after the approval of another one', () => {
  const fleet = new Fleet({ waves: [{ name: 'canary', approval: true }] }, two);
  fleet.look().set({ approved: 'B/r' }).look().look().fail(0).look();
  assert.equal(fleet.rollout.phase, 'Stopped');
  fleet.look('C').look('C');
  fleet.set({ approved: 'C/r' }).look('C').look('C');
  assert.deepEqual(fleet.rollout.shownReleases, ['C r', 'B r']);
});
