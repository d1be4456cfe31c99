import { BOUNDS } from '../../shared/api/bounds.ts';
import type { RolloutStatus } from '../../shared/api/rollout.ts';
import { formatDuration } from '../../shared/domain/duration.ts';
import { waveUnderWay } from './admission.ts';
import { laterThan, recoversAt } from './judge-gateway.ts';
import { iso, unlessEmpty } from './lifecycle.ts';
import type { RolloutGateway, RolloutInput, RolloutState } from './rollout-input.ts';
import type { Context, Standing } from './standing.ts';

/**
 * Notes who has failed, and of the first one why, since nothing else says so once it is back; and since when somebody is
 * under way. Who failed once has failed.
 */
export function noteFailures(rollout: RolloutStatus, context: Context): RolloutStatus {
  const { standing, input } = context;
  const timed = withTimes(withFailures(rollout, standing.failing), context);
  const late = lateOnes(timed, context).filter(({ due }) => due <= input.now);
  const noted = withFailures(
    timed,
    late.map(({ gateway }) => gateway.name),
  );
  const [first] = noted.failures ?? [];
  if (first === undefined || first === rollout.failures?.[0]) return noted;
  const failureMessage = reasonOf(first, context);
  return failureMessage === '' ? noted : { ...noted, failureMessage };
}

/** When something may change by the clock alone, in milliseconds since the epoch. */
export function duesOf(rollout: RolloutStatus, context: Context): number[] {
  const { standing, input } = context;
  return [
    ...lateOnes(rollout, context).map(({ due }) => due),
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
 * whichever came last. A crash, and the start after it, begin nothing. What has never run shows nothing, nor does what came in
 * addition.
 */
function lateOnes(rollout: RolloutStatus, { standing, input }: Context): { gateway: RolloutGateway; due: number }[] {
  const { underWaySince, admittedAt = underWaySince, startedAt } = rollout;
  if (underWaySince === undefined || admittedAt === undefined) return [];
  const began = Math.max(Date.parse(underWaySince), Date.parse(admittedAt));
  const isLater = laterThan(startedAt);
  const isJudged = (gateway: RolloutGateway) => !gateway.isUnstarted || !isLater(gateway);
  return underWay(standing)
    .filter(isJudged)
    .map((gateway) => {
      const { createdAt, notReadySince, readySince = 0, runsSince = 0 } = gateway;
      const isCrashing = input.now < recoversAt(gateway, rollout, input);
      const changedAt = isCrashing ? 0 : Math.max(runsSince, notReadySince ?? readySince);
      return { gateway, due: Math.max(began, createdAt, changedAt) + input.deadlineMs };
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
  return waves.slice(0, index + 1).flatMap(({ pending }) => pending.filter((gateway) => admitted.has(gateway)));
}

/**
 * The times from which the deadline counts: since when gateways are under way, without a break. If one isn't healthy that
 * was, or one more counts, such as one that was paused, it begins again: how long the others have been under way alone is
 * not known.
 */
function withTimes(rollout: RolloutStatus, { standing, input }: Context): RolloutStatus {
  const { underWaySince, soakStartedAt } = rollout;
  const { waves, index = -1, verified, counted } = standing;
  const now = iso(input.now);
  const isNews = verified.size < rollout.verified || counted.length > rollout.total;
  const since = isNews ? now : (underWaySince ?? now);
  return {
    ...rollout,
    // So that the same isn't news in the next step.
    verified: verified.size,
    total: counted.length,
    underWaySince: underWay(standing).length > 0 ? since : undefined,
    soakStartedAt: waves[index]?.isWell ? soakStartedAt : undefined,
  };
}

export const noteTimes = ({ rollout, history }: RolloutState, context: Context): RolloutState => ({
  history,
  rollout: withTimes(rollout, context),
});

/** Why a gateway has failed, in one line; empty where nobody says anything. */
function reasonOf(name: string, { standing: { failing }, input: { gateways, deadlineMs } }: Context): string {
  const { says } = gateways.find((gateway) => gateway.name === name) ?? {};
  const isLate = !failing.includes(name);
  const parts = [isLate && `not healthy within ${formatDuration(deadlineMs)}`, says].filter(Boolean);
  return parts
    .join(': ')
    .replace(/\p{Cc}+/gu, ' ')
    .slice(0, BOUNDS.text)
    .toWellFormed();
}

/** With these as well, in the order in which they failed. */
function withFailures(rollout: RolloutStatus, more: readonly string[]): RolloutStatus {
  return { ...rollout, failures: unlessEmpty([...new Set([...(rollout.failures ?? []), ...more])]) };
}
