import assert from 'node:assert/strict';
import type { RolloutGateway } from '../../../../controller/rollout/rollout-input.ts';
import type { ObservedRelease } from '../../../../controller/watch/observed-release.ts';
import type { RolloutStatus } from '../../../../shared/api/rollout.ts';
import { EVERY_CHANGE, shortDigest, UNKNOWN_CHANGES } from '../../../../shared/domain/rollout/approvals.ts';
import { isSame } from '../../../../shared/domain/rollout/releases.ts';
import { waveOf } from '../../../../shared/domain/rollout/waves.ts';
import { entriesIn, type Shown } from './approvals.ts';

/** What a wave begins with. */
interface Beginning {
  rollout: RolloutStatus;
  index: number;
  /** Name of the wave. */
  wave: string;
  releases: readonly ObservedRelease[];
  /** As seen by the controller. */
  gateways: readonly RolloutGateway[];
}

/**
 * A wave with approval begins only if a user has approved its release, for this wave or for all, after having seen each
 * change that gateways of the wave, paused ones included, report, or that some report none.
 */
export function checkApproved({ rollout, index, wave, releases, gateways }: Beginning): void {
  const release = releases.find((each) => each.release === rollout.release);
  const entries = release ? entriesIn(release).filter((each) => (each.wave ?? wave) === wave) : [];
  assert.notDeepEqual(entries, [], `${rollout.release} begins the wave ${wave} without an approval`);
  for (const entry of entries) assert.ok(isSame(entry, rollout), `${rollout.release} was approved as another release`);
  const changes = gateways
    .filter(({ fits, key, report }) => waveOf(fits, key, rollout.admission) === index && !isSame(report ?? {}, rollout))
    .map(({ preview }) => (preview && isSame(preview, rollout) ? preview : undefined));
  // The change of a gateway that reports none is unknown.
  const unseen = changes
    .flatMap((preview) => (preview?.changesNothing ? [] : shortDigest(preview?.digest ?? UNKNOWN_CHANGES)))
    .filter((digest) => !entries.some(({ seen }) => !seen || seen.includes(EVERY_CHANGE) || seen.includes(digest)));
  assert.deepEqual(unseen, [], `the wave ${wave} begins with changes that were not approved`);
}

/** A release whose first wave needs an approval begins only with it: gateways leave an unfinished release for it. */
export function checkBegun(rollout: RolloutStatus, previous: RolloutStatus | undefined): void {
  const isEdited = previous?.plan !== rollout.plan;
  if (!previous || isEdited || previous.number === rollout.number || previous.commit === rollout.commit) return;
  const isAtFirst = rollout.phase === 'AwaitingApproval' && rollout.wave === rollout.admission[0]?.wave;
  assert.ok(!isAtFirst, 'a release begins before its first wave is approved');
}

/** The status has only approvals that users gave, of changes that they saw. */
export function checkNoted({ approvals = [] }: RolloutStatus, releases: readonly ObservedRelease[]): void {
  for (const { release, wave, digests } of approvals) {
    const entries = entriesIn(releases.find((each) => each.release === release) ?? {});
    const given = entries.filter((each) => each.wave === wave).flatMap(({ seen = [EVERY_CHANGE] }) => seen);
    const others = digests.filter((digest) => !given.includes(digest));
    assert.deepEqual(others, [], `${release} was not approved with these changes`);
    assert.ok(entries.some((each) => each.wave === wave));
  }
}

/** Nothing that was approved as it is shown now waits for an approval, except for gateways that can still report. */
export function checkAsked(
  rollout: RolloutStatus,
  { shown, releases, gateways }: Pick<Beginning, 'releases' | 'gateways'> & { shown: Shown | undefined },
): void {
  if (rollout.waitsFor !== 'Approval' || !shown) return;
  if (!gateways.every(({ preview, report }) => [preview, report].some((each) => each && isSame(each, shown)))) return;
  const release = releases.find((each) => each.release === shown.release);
  const isInWave = (wave: string | undefined) =>
    wave === undefined || (rollout.nextCommit === undefined && wave === rollout.wave);
  const given = release
    ? entriesIn(release).filter(({ wave, changes }) => changes === shown.changes && isInWave(wave))
    : [];
  assert.deepEqual(given, [], 'it waits for an approval that it has');
}
