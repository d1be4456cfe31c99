import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { reportedRelease } from '../../../../controller/rollout/reported-release.ts';
import type { GatewayReport } from '../../../../controller/rollout/rollout-input.ts';

const newest = { commit: 'new', ref: 'main', revision: 'r' };
const say = (commit: string, state: GatewayReport['state'] = 'healthy', revision = 'r') => ({
  rollout: 1,
  commit,
  revision,
  state,
});
const awake = (report: GatewayReport | undefined) => ({ report, isPaused: false });
const storedRevisions = ['earlier'];
const found = (...reports: (GatewayReport | undefined)[]) =>
  reportedRelease({ gateways: reports.map(awake), newest: newest, delivered: undefined, storedRevisions });
const release = (commit: string, revision = 'r') => ({ commit, ref: commit, revision });

suite('the release that gateways report', () => {
  test('is the one that most of them have', () => {
    assert.deepEqual(found(say('old'), say('new'), say('old')), release('old'));
    assert.deepEqual(found(say('old'), say('new'), say('new'), undefined), release('new'));
  });

  test('is one that healthy gateways have', () => {
    assert.deepEqual(found(say('old'), say('bad', 'failed'), say('bad', 'busy')), release('old'));
    assert.deepEqual(found(say('bad', 'failed'), say('bad', 'failed'), say('old', 'busy')), release('bad'));
  });

  test('is not the newest one in a tie', () => {
    assert.deepEqual(found(say('new'), say('old')), release('old'));
    assert.deepEqual(found(say('old'), say('new')), release('old'));
    assert.deepEqual(found(say('new'), say('new', 'healthy', 'earlier')), release('new', 'earlier'));
  });

  test('is not one whose revision is not stored', () => {
    const fabricated = say('fabricated', 'healthy', 'other');
    assert.equal(found(fabricated), undefined);
    assert.deepEqual(found(fabricated, fabricated, say('old', 'busy')), release('old'));
    assert.deepEqual(found(say('old', 'healthy', 'earlier')), release('old', 'earlier'));
  });

  test('is the one in place if most gateways report no revision', () => {
    const delivered = { commit: 'placed', ref: 'main', revision: 'r' };
    const plain = { ...say('placed', 'busy'), revision: undefined };
    const chosen = (gateways: ReturnType<typeof awake>[]) => reportedRelease({ gateways, newest: newest, delivered });
    assert.deepEqual(chosen([awake(plain), awake(plain), awake(say('other'))]), delivered);
    assert.deepEqual(chosen([awake(plain), awake(say('other'))]), delivered);
    assert.deepEqual(chosen([awake(plain), awake(say('other')), awake(say('other'))]), release('other'));
    const late = { ...plain, commit: 'late' };
    assert.deepEqual(chosen([awake(late), awake(say('other'))]), delivered);
    const paused = { report: say('other'), isPaused: true };
    assert.deepEqual(chosen([awake(say('old')), paused, paused]), release('old'));
  });

  test('does not exist if no gateway has one of a rollout', () => {
    assert.equal(
      found(undefined, { ...say('old'), revision: undefined }, { ...say('old'), commit: undefined }),
      undefined,
    );
  });
});
