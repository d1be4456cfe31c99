import { BOUNDS } from '../../shared/api/bounds.ts';
import type { RolloutStatus } from '../../shared/api/rollout.ts';
import { isInProgress, releaseOf, stableOf } from '../../shared/domain/rollout/releases.ts';
import { NO_GATEWAY } from '../../shared/domain/rollout/waves.ts';
import { formatDuration } from '../../shared/domain/text/duration.ts';
import { oneLine } from '../../shared/domain/text/text.ts';
import { isEmptyForLong, lateOnes } from './deadlines.ts';
import type { Facts } from './facts.ts';
import type { Draft, Move } from './moves.ts';
import { failuresIn, isPreviewed, type PreviewedGateway } from './preview.ts';
import type { RolloutGateway, RolloutInput } from './rollout-input.ts';
import { namesOf, previewFailureOf } from './texts.ts';
import { givenUpWith, rollBack, unlessEmpty } from './transitions.ts';

/**
 * Stops a release that can't be delivered to some gateways, before one has it. They may report that after the preview
 * has ended.
 */
export function cannotBeDelivered({ rollout, input }: Facts): Move | undefined {
  if (!isInProgress(rollout) || rollout.admittedAt !== undefined || rollout.nextCommit !== undefined) return undefined;
  const failures = isPreviewed(rollout, rollout, input) ? failuresIn(rollout, input) : [];
  return failures.length > 0 ? stopBefore(rollout, failures) : undefined;
}

/** Skipped waves return to the stable release as well. */
export function stopBefore(rollout: Draft, failures: readonly PreviewedGateway[]): Move {
  const admission = rollout.admission.map((entry) => ({ ...entry, admitted: NO_GATEWAY }));
  const givenUp = givenUpWith(rollout, releaseOf(rollout));
  return { to: 'Stopped', rollout: { ...rollout, admission, previewFailure: previewFailureOf(failures), givenUp } };
}

/** Notes gateways that have failed, and stops or rolls back if they are too many. A newer commit keeps waiting. */
export function tooManyFailed(facts: Facts): Move | undefined {
  const { rollout, input } = facts;
  if (!isInProgress(rollout)) return undefined;
  const failed = newFailures(facts);
  if (failed) return { to: rollout.phase, rollout: { ...rollout, ...failed } };
  const { maxFailures = 0, onFailure } = input.spec;
  if ((rollout.failures ?? []).length <= maxFailures && !hasWholeWaveFailed(facts)) return undefined;
  const failures = unlessEmpty(rollout.failures?.slice(0, maxFailures + 1));
  const stable = stableOf(rollout);
  if (onFailure !== 'Rollback' || !stable)
    return { to: 'Stopped', rollout: { ...rollout, failures, givenUp: givenUpWith(rollout, rollout) } };
  const { nextCommit, nextRevision, nextRelease, failureMessage } = rollout;
  const back = rollBack(rollout, stable, input);
  return { to: 'RollingBack', rollout: { ...back, failures, failureMessage, nextCommit, nextRevision, nextRelease } };
}

/** Returns the fields that note more failed gateways; undefined if there are none. A failure is final. */
function newFailures(facts: Facts): Pick<RolloutStatus, 'failures' | 'failureMessage'> | undefined {
  const { rollout, input } = facts;
  const failing = failingIn(facts);
  const known = rollout.failures ?? [];
  const failures = [...new Set([...known, ...namesOf([...failing, ...lateOnes(facts)])])];
  if (failures.length === known.length) return undefined;
  // Nothing else shows the reason of the first one after a rollback.
  const failureMessage = known.length > 0 ? rollout.failureMessage : reasonOf(failures[0] ?? '', failing, input);
  return { failures, failureMessage: failureMessage || undefined };
}

/** Gateways with the release that report a failure. */
const failingIn = ({ released, rollout }: Facts): RolloutGateway[] =>
  [...released].filter(({ report }) => report?.rollout === rollout.number && report.state === 'failed');

/** Returns the reason of a failure in one line; empty if unknown. */
function reasonOf(name: string, failing: readonly RolloutGateway[], { gateways, deadlineMs }: RolloutInput): string {
  const { problem } = gateways.find((gateway) => gateway.name === name) ?? {};
  const isLate = !failing.some((gateway) => gateway.name === name);
  const parts = [isLate && `not healthy within ${formatDuration(deadlineMs)}`, problem].filter(Boolean);
  return oneLine(parts.join(': '), BOUNDS.text);
}

/** Whether all gateways that count in a wave have failed, whatever the maximum, unless replacements may come. */
function hasWholeWaveFailed({ rollout, wave, waves, input }: Facts): boolean {
  const begun = waves.slice(0, (wave?.index ?? 0) + Number(rollout.waveStartedAt !== undefined));
  return begun.some(({ awaited, pending, verified, entry }) => {
    if (awaited.length === 0 || pending.length > 0 || verified.length > 0) return false;
    return awaited.length >= (entry.gateways ?? 0) || isEmptyForLong(rollout, input);
  });
}
