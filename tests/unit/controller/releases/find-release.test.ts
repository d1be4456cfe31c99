import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { isStableGone, isStored, nameOf, withStoredNames } from '../../../../controller/releases/find-release.ts';
import type { ObservedGatewaySync } from '../../../../controller/watch/observed-gateway-sync.ts';
import type { RolloutStatus } from '../../../../shared/api/rollout.ts';
import { gatewaySpecOf, rolloutStatusOf } from '../../../support/objects.ts';
import { observedReleaseOf } from '../support/observed-release.ts';

const complete = { result: 'Complete', completedAt: 1_000 } as const;
const rejected = { result: 'Rejected' } as const;
const contentOf = (commit: string, revision = 'r') => ({ commit, ref: 'main', revision });

/** `S` is stable, and `A` is rolled out. */
const rollout = (more: Partial<RolloutStatus> = {}): RolloutStatus =>
  rolloutStatusOf({
    ...contentOf('A'),
    release: 'app-2',
    stableCommit: 'S',
    stableRevision: 'r',
    stableRelease: 'app-1',
    phase: 'Progressing',
    ...more,
  });

const s = observedReleaseOf(1, 'S', complete);
const a = observedReleaseOf(2, 'A');
const b = observedReleaseOf(3, 'B');

suite('the name of a content', () => {
  test('is that in the status, even if a newer release has the same content', () => {
    const again = observedReleaseOf(4, 'A');
    assert.equal(nameOf(contentOf('A'), rollout(), [s, a, again]), 'app-2');
    assert.equal(nameOf(contentOf('S'), rollout(), [s, a]), 'app-1');
    const waits = rollout({ nextCommit: 'B', nextRevision: 'r', nextRelease: 'app-3' });
    assert.equal(nameOf(contentOf('B'), waits, [s, a, b, observedReleaseOf(4, 'B')]), 'app-3');
  });

  test('is that of a stored release with the same commit and revision', () => {
    assert.equal(nameOf(contentOf('B'), rollout(), [s, a, b]), 'app-3');
    assert.equal(nameOf(contentOf('B', 'other'), rollout(), [s, a, b]), undefined);
    assert.equal(nameOf(contentOf('C'), rollout(), [s, a, b]), undefined);
  });

  test('is that of the newest of several releases', () => {
    assert.equal(nameOf(contentOf('B'), rollout(), [observedReleaseOf(4, 'B'), s, a, b]), 'app-4');
  });

  test('is that of a rejected release, which then stays rejected', () => {
    const left = observedReleaseOf(3, 'B', { ...rejected, completedAt: 1_000 });
    assert.equal(nameOf(contentOf('B'), rollout({ givenUp: ['B r'] }), [s, a, left]), 'app-3');
    assert.equal(nameOf(contentOf('B'), undefined, [s, a, left]), 'app-3');
  });

  test('is a new one if a rejected release is no longer abandoned, so that its approvals are void', () => {
    assert.equal(nameOf(contentOf('B'), rollout(), [s, a, observedReleaseOf(3, 'B', rejected)]), undefined);
    const retried = rollout({ ...contentOf('B'), release: 'app-3', phase: 'Previewing' });
    assert.equal(nameOf(contentOf('B'), retried, [s, a, observedReleaseOf(3, 'B', rejected)]), 'app-3');
  });

  test('is a new one if a release was complete and the status no longer names it', () => {
    const earlier = observedReleaseOf(3, 'B', complete);
    const stable = rollout({ stableCommit: 'C', stableRelease: 'app-4' });
    assert.equal(nameOf(contentOf('B'), stable, [s, a, earlier, observedReleaseOf(4, 'C', complete)]), undefined);
    const { result: _, ...unlabelled } = earlier;
    assert.equal(nameOf(contentOf('B'), rollout(), [s, a, unlabelled]), undefined);
  });

  test('is a new one if a newer release is complete, so that numbers grow', () => {
    const stable = rollout({ ...contentOf('B'), release: 'app-3', stableCommit: 'B', stableRelease: 'app-3' });
    const releases = [s, a, observedReleaseOf(3, 'B', complete)];
    assert.equal(nameOf(contentOf('A'), stable, releases), undefined);
    assert.equal(nameOf(contentOf('A'), stable, [s, { ...a, ...rejected }, ...releases.slice(2)]), undefined);
  });

  test('is that of the newest complete release if the status was lost', () => {
    const newest = observedReleaseOf(3, 'B', complete);
    assert.equal(nameOf(contentOf('B'), undefined, [s, a, newest]), 'app-3');
    assert.equal(nameOf(contentOf('S'), undefined, [s, a, newest]), undefined);
  });
});

suite('the names in a status', () => {
  const namesIn = ({ release, stableRelease, nextRelease, preview }: RolloutStatus) => [
    release,
    stableRelease,
    nextRelease,
    preview?.release,
  ];

  test('stay if their releases are stored', () => {
    assert.deepEqual(namesIn(withStoredNames(rollout(), [s, a, b])), ['app-2', 'app-1', undefined, undefined]);
  });

  test('are found by the content', () => {
    const unnamed = rollout({
      release: undefined,
      stableRelease: undefined,
      nextCommit: 'B',
      nextRevision: 'r',
      preview: { ...contentOf('B'), startedAt: '', total: 0, reported: 0, unchanged: 0, failing: 0, files: 0 },
    });
    assert.deepEqual(namesIn(withStoredNames(unnamed, [s, a, b])), ['app-2', 'app-1', 'app-3', 'app-3']);
  });

  test('are replaced if a release of this name has another content', () => {
    const releases = [observedReleaseOf(1, 'other', complete), observedReleaseOf(2, 'A'), observedReleaseOf(4, 'S')];
    assert.deepEqual(namesIn(withStoredNames(rollout(), releases)).slice(0, 2), ['app-2', 'app-4']);
  });

  test('can be those of missing releases, which are stored again', () => {
    const { stableRelease, stableCommit, stableRevision } = withStoredNames(rollout(), [a]);
    const stable = { ...contentOf(stableCommit ?? '', stableRevision ?? ''), release: stableRelease };
    assert.equal(isStored(stable, [a]), false);
    assert.equal(isStored(stable, [a, s]), true);
  });
});

suite('the stable release is gone', () => {
  const isGone = (revision: string, releases = [a]) => {
    const gatewaySync = { spec: { ...gatewaySpecOf({}), revision }, status: { rollout: rollout() } };
    return isStableGone(gatewaySync as unknown as ObservedGatewaySync, releases);
  };

  test('if its revision of spec.sync is neither in the spec nor in a stored release', () => {
    assert.equal(isGone('edited', []), true);
    assert.equal(isGone('edited', [observedReleaseOf(2, 'A', { revision: 'edited' })]), true);
  });

  test('but not if it can be stored again', () => {
    assert.equal(isGone('r', []), false);
    assert.equal(isGone('edited', [a]), false);
    assert.equal(isGone('edited', [s]), false);
  });

  test('but not before the first rollout', () => {
    const gatewaySync = { spec: { ...gatewaySpecOf({}), revision: 'r' }, status: {} };
    assert.equal(isStableGone(gatewaySync as unknown as ObservedGatewaySync, []), false);
  });
});
