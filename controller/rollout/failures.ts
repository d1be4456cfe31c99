import { BOUNDS } from '../../shared/api/bounds.ts';
import type { RolloutStatus } from '../../shared/api/rollout.ts';
import { formatDuration } from '../../shared/domain/duration.ts';
import { currentWave } from './admission.ts';
import { laterThan, recoversAt, restartOf } from './judge-gateway.ts';
import { iso, unlessEmpty } from './lifecycle.ts';
import type { RolloutGateway, RolloutInput, RolloutState } from './rollout-input.ts';
import type { Context, Standing } from './standing.ts';

/**
 * Records failed gateways, the reason of the first one (nothing else shows it after a rollback), and since when others
 * have been in progress. A failure is final.
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

/** Times at which the clock alone can change something (ms since the epoch). */
export function duesOf(rollout: RolloutStatus, context: Context): number[] {
  const { standing, input } = context;
  return [
    ...lateOnes(rollout, context).map(({ due }) => due),
    ...standing.counted.flatMap((gateway) => [
      gateway.createdAt + input.deadlineMs,
      (gateway.runsSince ?? 0) + input.deadlineMs,
      (restartOf(gateway, rollout) ?? 0) + input.deadlineMs,
      recoversAt(gateway, rollout, input),
    ]),
  ];
}

/**
 * Returns gateways in progress, and when each is late. Gateways that have never run are excluded, and so are additional
 * ones.
 */
function lateOnes(rollout: RolloutStatus, { standing, input }: Context): { gateway: RolloutGateway; due: number }[] {
  if (rollout.admittedAt === undefined) return [];
  const isLater = laterThan(rollout.startedAt);
  const isJudged = (gateway: RolloutGateway) => !gateway.isUnstarted || !isLater(gateway);
  return inProgress(standing)
    .filter(isJudged)
    .map((gateway) => ({ gateway, due: dueOf(gateway, rollout, input) }))
    .sort((a, b) => a.due - b.due);
}

/**
 * Returns when a gateway in progress is late: after it was unhealthy for the whole deadline. The deadline starts at the
 * latest of its admission, its creation, its start, its last change of readiness, and the time when it became
 * unhealthy. A crash or restart, and what follows from it, moves the deadline only once it has passed. Other gateways
 * never move it.
 */
function dueOf(gateway: RolloutGateway, rollout: RolloutStatus, { deadlineMs }: RolloutInput): number {
  const { createdAt, notReadySince, readySince = 0, runsSince = 0 } = gateway;
  const since = timeOf(rollout.inProgress?.find(({ name }) => name === gateway.name)?.since);
  const admittedAt = timeOf(rollout.admittedAt);
  // The last admission of any gateway. A gateway that was in progress before was admitted earlier.
  const first = Math.max(since === 0 ? admittedAt : Math.min(since, admittedAt), createdAt);
  if (restartOf(gateway, rollout) === undefined)
    return Math.max(first, since, runsSince, notReadySince ?? readySince) + deadlineMs;
  return (since < first + deadlineMs ? first : since) + deadlineMs;
}

const timeOf = (time: string | undefined): number => (time === undefined ? 0 : Date.parse(time));

/** When a wave exceeds its deadline and soak, counted from the last admission (ms since the epoch). */
export function lateAt(rollout: RolloutStatus, { deadlineMs, soakMs }: RolloutInput): number | undefined {
  const { waveStartedAt, admittedAt = waveStartedAt } = rollout;
  if (waveStartedAt === undefined || admittedAt === undefined) return undefined;
  const soak = soakMs[currentWave(rollout) ?? 0] ?? 0;
  return Math.max(Date.parse(waveStartedAt), Date.parse(admittedAt)) + deadlineMs + soak;
}

/** Admitted gateways that the waves up to the current one wait for. */
function inProgress({ waves, admitted, index = -1 }: Standing): RolloutGateway[] {
  return waves.slice(0, index + 1).flatMap(({ pending }) => pending.filter((gateway) => admitted.has(gateway)));
}

/** Updates the times from which deadlines count, and the soak, which an unhealthy gateway interrupts. */
function withTimes(rollout: RolloutStatus, context: Context): RolloutStatus {
  const { waves, index = -1, verified, counted } = context.standing;
  return {
    ...rollout,
    // A rollout that completes in this step keeps these.
    verified: verified.size,
    total: counted.length,
    soakStartedAt: waves[index]?.isHealthy ? rollout.soakStartedAt : undefined,
    inProgress: unlessEmpty(progressOf(rollout, context)),
  };
}

type Progress = NonNullable<RolloutStatus['inProgress']>;

/**
 * Returns the gateways in progress, and since when. A verified one that crashed or restarted stays for the deadline, so
 * that being healthy in between gives it no more time. If there may have been others, new ones were in progress before.
 */
function progressOf({ inProgress: before = [], ...rollout }: RolloutStatus, { standing, input }: Context): Progress {
  const sinceOf = new Map(before.map(({ name, since }) => [name, since]));
  const isFull = before.length === BOUNDS.inProgress;
  const since = isFull ? (rollout.admittedAt ?? rollout.startedAt) : iso(input.now);
  const isKept = (gateway: RolloutGateway) =>
    sinceOf.has(gateway.name) &&
    input.now < (restartOf(gateway, rollout) ?? Number.NEGATIVE_INFINITY) + input.deadlineMs;
  const names = [...inProgress(standing), ...[...standing.verified].filter(isKept)].map(({ name }) => name);
  return [...names.filter((name) => sinceOf.has(name)), ...names.filter((name) => !sinceOf.has(name))]
    .slice(0, BOUNDS.inProgress)
    .sort()
    .map((name) => ({ name, since: sinceOf.get(name) ?? since }));
}

export const noteTimes = ({ rollout, history }: RolloutState, context: Context): RolloutState => ({
  history,
  rollout: withTimes(rollout, context),
});

/** Returns the reason of a failure in one line; empty if unknown. */
function reasonOf(name: string, { standing: { failing }, input: { gateways, deadlineMs } }: Context): string {
  const { problem } = gateways.find((gateway) => gateway.name === name) ?? {};
  const isLate = !failing.includes(name);
  const parts = [isLate && `not healthy within ${formatDuration(deadlineMs)}`, problem].filter(Boolean);
  return parts
    .join(': ')
    .replace(/\p{Cc}+/gu, ' ')
    .slice(0, BOUNDS.text)
    .toWellFormed();
}

/** Adds failures, in the order in which they happened. */
function withFailures(rollout: RolloutStatus, more: readonly string[]): RolloutStatus {
  return { ...rollout, failures: unlessEmpty([...new Set([...(rollout.failures ?? []), ...more])]) };
}
