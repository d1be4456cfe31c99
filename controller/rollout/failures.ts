import { BOUNDS } from '../../shared/api/bounds.ts';
import type { RolloutStatus } from '../../shared/api/rollout.ts';
import { formatDuration } from '../../shared/domain/duration.ts';
import { currentWave } from './admission.ts';
import { laterThan, recoversAt } from './judge-gateway.ts';
import { iso, unlessEmpty } from './lifecycle.ts';
import type { RolloutGateway, RolloutInput, RolloutState } from './rollout-input.ts';
import type { Context, Standing } from './standing.ts';

/**
 * Records failed gateways, the reason of the first one (nothing else shows it after a rollback), and the time since
 * which gateways have been in progress. A failure is final.
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
      recoversAt(gateway, rollout, input),
    ]),
  ];
}

/**
 * Returns gateways in progress, and when each is late: after it was unhealthy for the whole deadline. The deadline
 * starts at the latest of the last admission, its creation, its start, and its last change of readiness. A crash and
 * the restart after it don't extend it. Gateways that have never run are excluded, and so are additional ones.
 */
function lateOnes(rollout: RolloutStatus, { standing, input }: Context): { gateway: RolloutGateway; due: number }[] {
  const { underWaySince, admittedAt = underWaySince, startedAt } = rollout;
  if (underWaySince === undefined || admittedAt === undefined) return [];
  const began = Math.max(Date.parse(underWaySince), Date.parse(admittedAt));
  const isLater = laterThan(startedAt);
  const isJudged = (gateway: RolloutGateway) => !gateway.isUnstarted || !isLater(gateway);
  return inProgress(standing)
    .filter(isJudged)
    .map((gateway) => {
      const { createdAt, notReadySince, readySince = 0, runsSince = 0 } = gateway;
      const isCrashing = input.now < recoversAt(gateway, rollout, input);
      const changedAt = isCrashing ? 0 : Math.max(runsSince, notReadySince ?? readySince);
      return { gateway, due: Math.max(began, createdAt, changedAt) + input.deadlineMs };
    })
    .sort((a, b) => a.due - b.due);
}

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

/**
 * Updates the times from which the deadline counts. If a verified gateway becomes unhealthy, or another one counts (for
 * example, after a pause), the deadline starts again, because it's unknown how long only the others have been in
 * progress.
 */
function withTimes(rollout: RolloutStatus, { standing, input }: Context): RolloutStatus {
  const { underWaySince, soakStartedAt } = rollout;
  const { waves, index = -1, verified, counted } = standing;
  const now = iso(input.now);
  const isNews = verified.size < rollout.verified || counted.length > rollout.total;
  const since = isNews ? now : (underWaySince ?? now);
  return {
    ...rollout,
    // So that the next step doesn't see the same change again.
    verified: verified.size,
    total: counted.length,
    underWaySince: inProgress(standing).length > 0 ? since : undefined,
    soakStartedAt: waves[index]?.isHealthy ? soakStartedAt : undefined,
  };
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
