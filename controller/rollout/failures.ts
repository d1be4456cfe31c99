import type { RolloutStatus } from '../../shared/api/rollout.ts';
import { hasCrashed, isLater, recoversAt } from './judge-gateway.ts';
import type { RolloutGateway, RolloutInput } from './rollout-input.ts';
import type { Standing } from './standing.ts';
import { iso } from './transitions.ts';

/** Notes who has failed, who failed once has failed, and since when somebody is under way. */
export function noteFailures(rollout: RolloutStatus, standing: Standing, input: RolloutInput): RolloutStatus {
  const said = withFailures(rollout, standing.failing);
  const timed = noteTimes(said, standing, input);
  const late = lateOnes(timed, standing, input).filter(({ due }) => due <= input.now);
  return withFailures(
    timed,
    late.map(({ gateway }) => gateway.name),
  );
}

/** When something may change by the clock alone, in milliseconds since the epoch. */
export function duesOf(rollout: RolloutStatus, standing: Standing, input: RolloutInput): number[] {
  const { underWaySince } = rollout;
  return [
    ...lateOnes(rollout, standing, input).map(({ due }) => due),
    ...(underWaySince === undefined ? [] : [Date.parse(underWaySince) + input.deadlineMs]),
    ...standing.counted.flatMap((gateway) => [
      gateway.createdAt + input.deadlineMs,
      recoversAt(gateway, rollout, input),
    ]),
  ];
}

/**
 * Who is under way, and when that has taken too long: when it was not well for as long as the deadline is, without a
 * break. That counts from when gateways were let in last, or from when it was created, or was ready, or not, whichever came
 * last; one that crashes counts all the time. What has never run shows nothing, nor does what came in addition.
 */
function lateOnes(
  rollout: RolloutStatus,
  standing: Standing,
  { deadlineMs }: RolloutInput,
): { gateway: RolloutGateway; due: number }[] {
  const { underWaySince, admittedAt = underWaySince, startedAt } = rollout;
  if (underWaySince === undefined || admittedAt === undefined) return [];
  const since = Math.max(Date.parse(underWaySince), Date.parse(admittedAt));
  const isJudged = (gateway: RolloutGateway) => !gateway.isUnstarted || !isLater(gateway, startedAt);
  return underWay(standing)
    .filter(isJudged)
    .map((gateway) => {
      const { createdAt, notReadySince, readySince = 0 } = gateway;
      const changedAt = hasCrashed(gateway, rollout) ? 0 : (notReadySince ?? readySince);
      return { gateway, due: Math.max(since, createdAt, changedAt) + deadlineMs };
    })
    .sort((a, b) => a.due - b.due);
}

/** Whom the waves wait for that have begun, of those that are let in. */
function underWay({ waves, admitted, index = -1 }: Standing): RolloutGateway[] {
  return waves.slice(0, index + 1).flatMap(({ open }) => open.filter((gateway) => admitted.has(gateway)));
}

/**
 * The time from which the deadline counts: since when somebody is under way, without a break. Who rested, and does not any
 * more, has all of it.
 */
export function noteTimes(rollout: RolloutStatus, standing: Standing, { gateways, now }: RolloutInput): RolloutStatus {
  const { underWaySince: before, soakStartedAt, resting: rested = 0, ...rest } = rollout;
  const { waves, index = -1 } = standing;
  const resting = gateways.filter(({ isResting }) => isResting).length;
  const isAnybody = underWay(standing).length > 0;
  const underWaySince = isAnybody ? (resting < rested ? iso(now) : (before ?? iso(now))) : undefined;
  return {
    ...rest,
    ...(resting > 0 && { resting }),
    ...(underWaySince !== undefined && { underWaySince }),
    ...(soakStartedAt !== undefined && waves[index]?.isWell && { soakStartedAt }),
  };
}

/** With these as well, in the order in which they failed. */
function withFailures(rollout: RolloutStatus, more: readonly string[]): RolloutStatus {
  const failures = [...new Set([...(rollout.failures ?? []), ...more])];
  return failures.length > 0 ? { ...rollout, failures } : rollout;
}
