import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { approversIn, historyView, releaseWords, wayBackTo } from '../../../cli/fleet/history.ts';
import type { RolloutStatus } from '../../../shared/api/rollout.ts';
import type { StoredRelease } from '../../../shared/domain/rollout/stored-release.ts';
import { omit } from '../../../shared/domain/text/objects.ts';
import { gatewaySyncOf, rolloutStatusOf } from '../../support/objects.ts';
import { complete, rejected, storedRelease } from './stored-releases.ts';

const COMMIT = 'c0ffee11'.repeat(5);
/** The commits differ in their last character, because commits with the same first characters are other commits. */
const commitOf = (number: number) => `${COMMIT.slice(0, 39)}${number}`;

/** Releases 7 to 12 in any order: 12 was never complete, a rollback left 11, and 10 is the stable one. */
const releases: StoredRelease[] = [
  storedRelease(7, commitOf(7), complete),
  storedRelease(12, commitOf(2), { phase: 'Stopped', result: 'Rejected' }),
  storedRelease(8, commitOf(8), rejected),
  storedRelease(9, commitOf(9), omit(complete, 'result')),
  storedRelease(11, commitOf(1), rejected),
  storedRelease(10, commitOf(0), complete),
];

function plant(parts: Partial<RolloutStatus> = {}, stable = 10) {
  const content = { commit: commitOf(1), release: 'plant-11', phase: 'RolledBack' as const };
  const stableParts = { stableCommit: commitOf(stable % 10), stableRelease: `plant-${stable}` };
  return gatewaySyncOf({ status: { rollout: rolloutStatusOf({ ...content, ...stableParts, ...parts }) } });
}

suite('the history', () => {
  test('lists all releases of the resource, the newest first, and marks the current one and the possible targets', () => {
    const foreign = [
      storedRelease(20, COMMIT, { ...complete, namespace: 'other' }),
      storedRelease(21, COMMIT, { ...complete, crName: 'plan' }),
      storedRelease(22, COMMIT, { ...complete, crName: '' }),
    ];
    const shown = historyView(plant(), [...foreign, ...releases]).map(({ number, isStable, canGoBack }) =>
      [number, isStable && 'stable', canGoBack && 'target'].filter(Boolean).join(' '),
    );
    assert.deepEqual(shown, ['12', '11 target', '10 stable', '9 target', '8 target', '7 target']);
  });

  test('has the fields of a release, without those that have no value', () => {
    const [first, second] = historyView(plant(), releases);
    const fields = { name: 'plant-12', ref: 'v12', commit: commitOf(2), phase: 'Stopped', result: 'Rejected' };
    assert.deepEqual({ ...first }, { number: 12, ...fields, isStable: false, canGoBack: false });
    assert.equal(second?.completedAt, '2026-01-01T00:00:00.000Z');
  });

  test('names the users who approved a release, each once', () => {
    const approval = { changes: 'none', by: 'alice', at: '2026-01-01T00:00:00Z' };
    const approvals = [approval, { ...approval, by: 'bob', wave: 'east' }, approval];
    const [first] = historyView(plant(), [storedRelease(13, COMMIT, { approvals })]);
    assert.deepEqual(first?.approvals, approvals);
    assert.equal(approversIn(first), 'alice, bob (east)');
    assert.equal(approversIn({}), '');
  });

  test('has no target without a rollout', () => {
    assert.ok(historyView(gatewaySyncOf(), releases).every(({ isStable, canGoBack }) => !isStable && !canGoBack));
  });
});

suite('the way back', () => {
  const wayOf = (to: string, gatewaySync = plant(), given = releases) => {
    const found = wayBackTo(gatewaySync, to, given);
    return found.kind === 'way' ? [found.way.value, found.way.target.release, found.way.isForward] : found.kind;
  };

  test('leads to the previous release with the result Complete', () => {
    assert.deepEqual(wayOf('previous'), ['previous', 'plant-7', false]);
    assert.equal(wayOf('previous', plant({}, 7)), 'unknown');
  });

  test('leads to the stable release during a rollout, even if no release can be read', () => {
    const inProgress = plant({ phase: 'Progressing', commit: commitOf(2), release: 'plant-12' });
    assert.deepEqual(wayOf('previous', inProgress, []), ['previous', 'plant-10', false]);
    assert.deepEqual(wayOf('10', inProgress, []), ['plant-10', 'plant-10', false]);
  });

  test('leads to a complete release by its number or its name, older or newer', () => {
    for (const to of ['8', 'plant-8']) assert.deepEqual(wayOf(to), ['plant-8', 'plant-8', false]);
    assert.deepEqual(wayOf('11'), ['plant-11', 'plant-11', true]);
  });

  test('leads nowhere else', () => {
    assert.equal(wayOf('10'), 'current');
    const same = [...releases, storedRelease(13, commitOf(0), complete)];
    assert.equal(wayOf('13', plant(), same), 'current', 'because it has the same content');
    assert.ok(historyView(plant(), same).every(({ number, canGoBack }) => number !== 13 || !canGoBack));
    assert.equal(wayOf('plant-12'), 'incomplete');
    for (const to of [
      '13',
      '08',
      '0',
      '-8',
      '',
      'v9',
      'shop-9',
      'plant-',
      commitOf(9),
      `${commitOf(9)}/${'1'.repeat(32)}`,
    ])
      assert.equal(wayOf(to), 'unknown', to);
    assert.equal(wayOf('9', gatewaySyncOf()), 'unknown');
    assert.equal(wayOf('previous', gatewaySyncOf()), 'unknown');
  });
});

test('a release is described by its number, its commit, and its ref', () => {
  const content = { commit: COMMIT, ref: 'v9', revision: 'r' };
  const wordsOf = (parts: object) => releaseWords(plant(), { ...content, ...parts });
  assert.equal(wordsOf({ release: 'plant-9' }), 'release 9 (c0ffee11, v9)');
  assert.equal(wordsOf({ release: 'plant-9', ref: COMMIT }), 'release 9 (c0ffee11)');
  assert.equal(wordsOf({}), 'c0ffee11 (v9)');
});
