import type { RolloutStatus } from '../../shared/api/rollout.ts';
import { isWithin, NOBODY } from '../../shared/domain/waves.ts';
import type { RolloutGateway, RolloutInput } from './rollout-input.ts';
import { currentWave, isLater, isSkipped, type Standing } from './standing.ts';

/** Names of the gateways that have failed: who failed once has failed. */
export function failuresOf(rollout: RolloutStatus, standing: Standing, { deadlineMs, now }: RolloutInput): string[] {
  const { failures = [], admittedAt, soakStartedAt, admission } = rollout;
  const { verified, failing } = standing;
  const index = currentWave(rollout);
  // An agent that is restarted while all soak gets the whole time again.
  const since = soakStartedAt === undefined ? admittedAt : undefined;
  // Pods that came to an earlier wave since may have trouble of any kind: they count if they say so themselves.
  const underWay = awaitedIn(rollout, index, standing).filter(({ key }) =>
    isWithin(key, admission[index]?.admitted ?? NOBODY),
  );
  const isOver = ({ createdAt }: RolloutGateway) =>
    since !== undefined && now - Math.max(Date.parse(since), createdAt) >= deadlineMs;
  const late = underWay.filter((gateway) => !verified.has(gateway) && isOver(gateway));
  return [...new Set([...failures, ...failing, ...late.map(({ name }) => name)])].sort();
}

/**
 * Whom a wave waits for: not for those that were not ready before the rollout, nor for those that came after the wave
 * began, or since the rollout did and have never started. But somebody has to show that all is well: as long as nobody has, it waits for these as well.
 */
export function awaitedIn(
  { startedAt, waveStartedAt }: RolloutStatus,
  index: number,
  standing: Standing,
): RolloutGateway[] {
  const members = standing.membersOf(index).filter((gateway) => !isSkipped(gateway, startedAt));
  const isShown = members.some((gateway) => standing.verified.has(gateway));
  if (!isShown) return members;
  const hasStarted = ({ report, notReadySince }: RolloutGateway) => report !== undefined || notReadySince === undefined;
  return members.filter(
    (gateway) => !isLater(gateway, waveStartedAt) && (hasStarted(gateway) || !isLater(gateway, startedAt)),
  );
}

export const withFailures = ({ failures: _, ...rest }: RolloutStatus, failures: string[]): RolloutStatus =>
  failures.length > 0 ? { ...rest, failures } : rest;
