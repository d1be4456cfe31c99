import assert from 'node:assert/strict';
import { withResults } from '../../../../controller/releases/results.ts';
import type { ObservedRelease } from '../../../../controller/watch/observed-release.ts';
import type { RolloutStatus } from '../../../../shared/api/rollout.ts';
import { GIVEN_UP, isSame, type Release, releaseOf, stableOf } from '../../../../shared/domain/rollout/releases.ts';
import { control, decide, type Setup, type World } from './model.ts';

/** Checks the stored releases after a write of the controller. */
export function checkReleases(world: World, before: World, setup: Setup): void {
  checkNumbers(world, before);
  checkNames(world);
  checkResults(world, before);
  checkLeft(world);
  checkRollback(world, before);
  checkLateResults(world, before, setup);
}

const isComplete = ({ result }: ObservedRelease) => result === 'Complete';
const wasComplete = ({ completedAt }: ObservedRelease) => completedAt !== undefined;
const contentOf = ({ number, release, commit, revision, ref }: ObservedRelease) =>
  `${number} ${release} ${commit} ${revision} ${ref}`;

/** Numbers only grow, and a release never changes. */
function checkNumbers({ releases }: World, before: World): void {
  const numbers = releases.map(({ number }) => number);
  assert.deepEqual(
    numbers.toSorted((a, b) => a - b),
    numbers,
    'numbers do not grow',
  );
  assert.equal(new Set(numbers).size, numbers.length, 'a number is used twice');
  const kept = releases.slice(0, before.releases.length);
  assert.deepEqual(kept.map(contentOf), before.releases.map(contentOf), 'a release has changed');
}

/** Each release that the status names is stored with exactly its commit and revision. */
function checkNames({ state, releases }: World): void {
  const { nextCommit, nextRevision, nextRelease, preview, ...rollout } = state as RolloutStatus;
  const named: Partial<Release>[] = [releaseOf(rollout), stableOf(rollout)].filter((each) => each !== undefined);
  if (nextCommit !== undefined) named.push({ commit: nextCommit, revision: nextRevision ?? '', release: nextRelease });
  if (preview) named.push(releaseOf(preview));
  for (const { commit, revision, release } of named) {
    const stored = releases.find((each) => each.release === release);
    assert.deepEqual([stored?.commit, stored?.revision], [commit, revision], `${release} has another content`);
  }
}

/** The stable release is complete, and the newest one that is. A complete one can only be rejected. */
function checkResults(world: World, before: World): void {
  const { state, releases, now } = world;
  const { stableRelease, stableCommit } = state as RolloutStatus;
  if (stableCommit === undefined) {
    checkUnknown(world, before);
    return;
  }
  const stable = releases.find(({ release }) => release === stableRelease);
  assert.equal(stable?.result, 'Complete', 'the stable release is not complete');
  assert.ok(stable.completedAt !== undefined, 'the stable release was never complete');
  for (const [index, earlier] of before.releases.entries()) {
    const { result, completedAt, release } = releases[index] as ObservedRelease;
    if (isComplete(earlier)) assert.notEqual(result, undefined, `${release} is no longer complete`);
    if (wasComplete(earlier)) assert.equal(completedAt, earlier.completedAt, `${release} was complete earlier`);
  }
  const newest = releases.findLast(isComplete);
  assert.equal(newest?.release, stableRelease, 'the stable release is not the newest complete one');
  const noted = withResults(releases, state, now);
  assert.deepEqual(withResults(noted, state, now + 1), noted, 'results are noted twice');
}

/** The stable release is unknown only after a loss, and until a release is complete. There is nothing to roll back to. */
function checkUnknown({ state, releases }: World, before: World): void {
  const { phase } = state as RolloutStatus;
  assert.equal(before.state?.stableCommit, undefined, 'the stable release is forgotten');
  assert.deepEqual(releases.filter(wasComplete), [], 'a complete release is not stable');
  assert.ok(!['Complete', 'RollingBack', 'RolledBack'].includes(phase), `${phase} without a stable release`);
}

/**
 * Every release that is newer than the target of a rollback is rejected if it is the one that gateways left, or was
 * complete. An older one that they left for a newer one stays complete.
 */
function checkLeft({ state, releases }: World): void {
  const { phase, ...rollout } = state as RolloutStatus;
  if (phase !== 'RollingBack' && phase !== 'RolledBack') return;
  const target = releases.find(({ release }) => release === rollout.stableRelease);
  const left = releases.find(({ release }) => release === rollout.release);
  const isOlder = left !== undefined && target !== undefined && left.number < target.number;
  const isRight = left?.result === 'Rejected' || (isOlder && left.result === 'Complete');
  assert.ok(isRight, 'a release that was rolled back is not rejected');
  const newer = releases.filter(({ number }) => target !== undefined && number > target.number);
  assert.deepEqual(newer.filter(isComplete), [], 'a release that is newer than the target of a rollback is complete');
}

/** A rollback restores the release that its order names, or the last good one before the current one. */
function checkRollback(world: World, before: World): void {
  const { rollback, state } = world;
  const { handled = {}, givenUp = [], stableRelease } = state as RolloutStatus;
  const former = before.state;
  if (!former || rollback === undefined || handled.rollback === former.handled?.rollback) return;
  const { ignored = [] } = handled;
  // A retry has its effect before a rollback.
  const isRetried = handled.retry !== former.handled?.retry && !ignored.includes('retry-rollout');
  const isBegun = isRetried && GIVEN_UP.includes(former.phase) && world.retry === former.commit;
  const target = targetOf(rollback, { ...before, state: isBegun ? { ...former, phase: 'Previewing' } : former });
  const isIgnored = ignored.includes('rollback');
  assert.equal(isIgnored, target === undefined, `${rollback} ${isIgnored ? 'has no effect' : 'has an effect'}`);
  if (!target) return;
  const { commit, revision, release } = target;
  const { ref: _, ...stable } = stableOf(state as RolloutStatus) as Release;
  assert.deepEqual(stable, { commit, revision, release }, `not rolled back to ${release}`);
  assert.ok(!givenUp.includes(`${commit} ${revision}`), `${stableRelease}, which all go to, is given up`);
}

/** The release that an order should restore; undefined if there is none. */
function targetOf(
  rollback: string,
  { state, releases }: World & { state: RolloutStatus },
): ObservedRelease | undefined {
  if (state.stableCommit === undefined) return undefined;
  const current = releases.find(({ release }) => release === state.stableRelease) as ObservedRelease;
  const isAtStable = isSame(state, current) || state.phase === 'RolledBack';
  if (!isAtStable && (rollback === 'previous' || rollback === current.release)) return current;
  const others = releases.filter((release) => !isSame(release, current));
  if (rollback !== 'previous') return others.filter(wasComplete).find(({ release }) => release === rollback);
  return others.filter(isComplete).findLast(({ number }) => number < current.number);
}

/** Results that are written only before the next decision lead to the same one, and no complete release is lost. */
function checkLateResults(world: World, before: World, setup: Setup): void {
  const isNoted = world.releases.some(({ result }, index) => result !== before.releases[index]?.result);
  if (!isNoted || !before.state) return;
  const inTime = control(world, setup);
  const late = control(decide(before, setup), setup);
  assert.deepEqual(late, inTime, 'a result that is written late changes a decision');
}
