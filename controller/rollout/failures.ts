import { createHash } from 'node:crypto';
import { BOUNDS } from '../../shared/api/bounds.ts';
import type { RolloutStatus } from '../../shared/api/rollout.ts';
import { formatDuration } from '../../shared/domain/duration.ts';
import { waveUnderWay } from './admission.ts';
import { hasCrashed, laterThan, recoversAt } from './judge-gateway.ts';
import type { RolloutGateway, RolloutInput } from './rollout-input.ts';
import type { Standing } from './standing.ts';
import { iso } from './transitions.ts';

/**
 * Notes who has failed, and of the first one why, since nothing else says so once it is back; and since when somebody is
 * under way. Who failed once has failed.
 */
export function noteFailures(rollout: RolloutStatus, standing: Standing, input: RolloutInput): RolloutStatus {
  const said = withFailures(rollout, standing.failing);
  const timed = noteTimes(said, standing, input);
  const late = lateOnes(timed, standing, input).filter(({ due }) => due <= input.now);
  const noted = withFailures(
    timed,
    late.map(({ gateway }) => gateway.name),
  );
  const [first] = noted.failures ?? [];
  if (first === undefined || first === rollout.failures?.[0]) return noted;
  const failureMessage = reasonOf(first, standing, input);
  return failureMessage === '' ? noted : { ...noted, failureMessage };
}

/** When something may change by the clock alone, in milliseconds since the epoch. */
export function duesOf(rollout: RolloutStatus, standing: Standing, input: RolloutInput): number[] {
  return [
    ...lateOnes(rollout, standing, input).map(({ due }) => due),
    ...standing.counted.flatMap((gateway) => [
      gateway.createdAt + input.deadlineMs,
      (gateway.runsSince ?? 0) + input.deadlineMs,
      recoversAt(gateway, rollout, input),
    ]),
  ];
}

/**
 * Who is under way, and when that has taken too long: when it was not well for as long as the deadline is, without a
 * break. That counts from when gateways were let in last, or from when it was created, began to run, was ready, or was not,
 * whichever came last; for one that crashes, from its first crash. What has never run shows nothing, nor does what came in
 * addition.
 */
function lateOnes(
  rollout: RolloutStatus,
  standing: Standing,
  { deadlineMs }: RolloutInput,
): { gateway: RolloutGateway; due: number }[] {
  const { underWaySince, admittedAt = underWaySince, startedAt, crashing = [] } = rollout;
  if (underWaySince === undefined || admittedAt === undefined) return [];
  const began = Math.max(Date.parse(underWaySince), Date.parse(admittedAt));
  const isLater = laterThan(startedAt);
  const isJudged = (gateway: RolloutGateway) => !gateway.isUnstarted || !isLater(gateway);
  return underWay(standing)
    .filter(isJudged)
    .map((gateway) => {
      const { name, createdAt, notReadySince, readySince = 0, runsSince = 0 } = gateway;
      const crashed = crashing.find((each) => each.name === name);
      const since = crashed
        ? Date.parse(crashed.since)
        : Math.max(began, createdAt, runsSince, notReadySince ?? readySince);
      return { gateway, due: since + deadlineMs };
    })
    .sort((a, b) => a.due - b.due);
}

/** When a wave takes longer than its gateways have, counted from when some were let in last; in milliseconds since the epoch. */
export function lateAt(rollout: RolloutStatus, { deadlineMs, soakMs }: RolloutInput): number | undefined {
  const { waveStartedAt, admittedAt = waveStartedAt } = rollout;
  if (waveStartedAt === undefined || admittedAt === undefined) return undefined;
  const soak = soakMs[waveUnderWay(rollout) ?? 0] ?? 0;
  return Math.max(Date.parse(waveStartedAt), Date.parse(admittedAt)) + deadlineMs + soak;
}

/** Whom the waves wait for that have begun, of those that are let in. */
function underWay({ waves, admitted, index = -1 }: Standing): RolloutGateway[] {
  return waves.slice(0, index + 1).flatMap(({ open }) => open.filter((gateway) => admitted.has(gateway)));
}

/**
 * The times from which the deadline counts: since when somebody is under way, without a break, and when those crashed first
 * that crashed a short time ago. Where one works again that rested, or is not well any more that was, it begins again:
 * nobody knows for how long the others have been under way alone.
 */
export function noteTimes(rollout: RolloutStatus, standing: Standing, input: RolloutInput): RolloutStatus {
  const { underWaySince: before, soakStartedAt, fleet: former, crashing: _, ...rest } = rollout;
  const { waves, index = -1, verified } = standing;
  const fleet = fleetOf(input.gateways);
  const [names, resting] = (former ?? fleet).split(' ');
  const isSame = fleet.startsWith(`${names} `);
  const isNews = isSame && (!fleet.endsWith(` ${resting}`) || verified.size < rollout.verified);
  const now = iso(input.now);
  const underWaySince = underWay(standing).length === 0 ? undefined : isNews ? now : (before ?? now);
  const crashing = crashingIn(rollout, standing, input);
  return {
    ...rest,
    // So that the same is no news when it is looked at again.
    verified: verified.size,
    fleet,
    ...(crashing.length > 0 && { crashing }),
    ...(underWaySince !== undefined && { underWaySince }),
    ...(soakStartedAt !== undefined && waves[index]?.isWell && { soakStartedAt }),
  };
}

const digest = (names: readonly string[]): string =>
  createHash('sha256').update(names.toSorted().join()).digest('hex').slice(0, 16);

/** Hashes of the names of all gateways, and of those that rest: what is created and deleted is nobody that works again. */
function fleetOf(gateways: readonly RolloutGateway[]): string {
  const resting = gateways.filter(({ isResting }) => isResting);
  return [gateways, resting].map((each) => digest(each.map(({ name }) => name))).join(' ');
}

/** Those that crashed a short time ago, and when they did for the first time since they were well. */
function crashingIn(rollout: RolloutStatus, { admitted }: Standing, input: RolloutInput) {
  const { crashing = [] } = rollout;
  return [...admitted]
    .filter((gateway) => hasCrashed(gateway, rollout) && input.now < recoversAt(gateway, rollout, input))
    .map(
      ({ name, crashedAt = input.now }) =>
        crashing.find((each) => each.name === name) ?? { name, since: iso(crashedAt) },
    )
    .sort((a, b) => (a.since < b.since ? -1 : 1))
    .slice(0, BOUNDS.crashing);
}

/** Why a gateway has failed, in one line; empty where nobody says anything. */
function reasonOf(name: string, { failing }: Standing, { gateways, deadlineMs }: RolloutInput): string {
  const { says } = gateways.find((gateway) => gateway.name === name) ?? {};
  const isLate = !failing.includes(name);
  const parts = [isLate && `not well within ${formatDuration(deadlineMs)}`, says].filter(Boolean);
  return parts
    .join(': ')
    .replace(/\p{Cc}+/gu, ' ')
    .slice(0, BOUNDS.text)
    .toWellFormed();
}

/** With these as well, in the order in which they failed. */
function withFailures(rollout: RolloutStatus, more: readonly string[]): RolloutStatus {
  const failures = [...new Set([...(rollout.failures ?? []), ...more])];
  return failures.length > 0 ? { ...rollout, failures } : rollout;
}
