import type { RolloutStatus } from '../../shared/api/rollout.ts';
import { isSame, stableOf } from '../../shared/domain/rollout/releases.ts';
import type { RolloutGateway, RolloutInput } from './rollout-input.ts';

/**
 * Whether a gateway reports the release of this rollout and is healthy with it. An older report proves nothing. A pod
 * that isn't ready is unhealthy regardless of its agent's report, and so is one that crashed, for half of the deadline.
 * A gateway that crashes again within the deadline therefore fails, because a crash doesn't move its deadline.
 */
export function isVerified(gateway: RolloutGateway, rollout: RolloutStatus, input: RolloutInput): boolean {
  const { report, notReadySince, crashedAt = 0 } = gateway;
  const isRecovering = hasCrashed(gateway, rollout) && input.now < crashedAt + input.deadlineMs / 2;
  if (notReadySince !== undefined || isRecovering) return false;
  return hasRelease(gateway, rollout) && report?.state === 'healthy';
}

/** Whether a gateway reports the release of this rollout, healthy or not. */
export const hasRelease = ({ report }: RolloutGateway, rollout: RolloutStatus): boolean =>
  report?.rollout === rollout.number && isSame(report, rollout);

/** Whether a container exited with an error during the rollout. */
export const hasCrashed = ({ crashedAt }: RolloutGateway, { startedAt }: RolloutStatus): boolean =>
  crashedAt !== undefined && crashedAt >= Date.parse(startedAt);

/** When a container last exited during the rollout, with or without an error (ms since the epoch); undefined if none did. */
export function restartOf(gateway: RolloutGateway, { startedAt }: RolloutStatus): number | undefined {
  const { crashedAt = 0, restartedAt = 0 } = gateway;
  const last = Math.max(crashedAt, restartedAt);
  return last >= Date.parse(startedAt) ? last : undefined;
}

/** Whether a gateway is back on the stable release since the rollback began. It may still be unhealthy. */
export const isRolledBack = ({ report }: RolloutGateway, rollout: RolloutStatus): boolean =>
  report?.rollout === rollout.number && isSame(report, stableOf(rollout) ?? {});

/**
 * Returns the gateways that a rollback waits for. It doesn't wait for gateways created later, which only get the stable
 * release, nor for those that weren't ready before, unless they have the bad release, which may be the cause.
 */
export function notRolledBack(rollout: RolloutStatus, gateways: readonly RolloutGateway[]): RolloutGateway[] {
  const { startedAt } = rollout;
  const isUnready = unreadyBefore(startedAt);
  const isLater = createdAfter(startedAt);
  const isBroken = ({ report }: RolloutGateway) => isSame(report ?? {}, rollout);
  return gateways.filter((gateway) => {
    if (gateway.isPaused || isRolledBack(gateway, rollout) || isLater(gateway)) return false;
    return isBroken(gateway) || !isUnready(gateway);
  });
}

/** Returns a test for gateways that weren't ready before a time, for example on a lost node. No rollout waits for them. */
export function unreadyBefore(time: string): (gateway: RolloutGateway) => boolean {
  // Kubernetes stores whole seconds.
  const second = Math.floor(Date.parse(time) / 1000) * 1000;
  return ({ notReadySince }) => notReadySince !== undefined && notReadySince < second;
}

/** Returns a test for gateways created after a time; they get the release of their wave. */
export function createdAfter(time: string): (gateway: RolloutGateway) => boolean {
  const at = Date.parse(time);
  return ({ createdAt }) => createdAt > at;
}

/** Whether less time than the deadline has passed since a gateway was created or started. */
export const isYoung = ({ createdAt, runsSince = 0 }: RolloutGateway, { now, deadlineMs }: RolloutInput): boolean =>
  now < Math.max(createdAt, runsSince) + deadlineMs;
