import type { RolloutStatus } from '../../shared/api/rollout.ts';
import type { RolloutGateway, RolloutInput } from './rollout-input.ts';

/**
 * Whether a gateway reports the release of this very rollout, and is well with it: an older report proves nothing. A pod
 * that is not ready is not well, whatever its agent says, nor is one that crashed a short time ago.
 */
export function isVerified(gateway: RolloutGateway, rollout: RolloutStatus, input: RolloutInput): boolean {
  const { report, notReadySince } = gateway;
  if (notReadySince !== undefined || input.now < recoversAt(gateway, rollout, input)) return false;
  return hasRelease(gateway, rollout) && report?.state === 'well';
}

/** Whether a gateway reports the release of this very rollout, well with it or not. */
export function hasRelease({ report }: RolloutGateway, { number, commit, revision }: RolloutStatus): boolean {
  return report?.rollout === number && report.commit === commit && report.revision === revision;
}

/**
 * When a gateway that crashed since the rollout began counts as well again, in milliseconds since the epoch: after half
 * of the deadline, so that one that crashes again and again has failed by the deadline, however well it is in between.
 */
export function recoversAt(
  gateway: RolloutGateway,
  rollout: RolloutStatus,
  { deadlineMs }: Pick<RolloutInput, 'deadlineMs'>,
): number {
  return hasCrashed(gateway, rollout) ? (gateway.crashedAt ?? 0) + deadlineMs / 2 : 0;
}

const hasCrashed = ({ crashedAt }: RolloutGateway, { startedAt }: RolloutStatus): boolean =>
  crashedAt !== undefined && crashedAt >= Date.parse(startedAt);

/** Whether a gateway has the stable release again, since the rollback began: whether it is well with it is another matter. */
export function isBack({ report }: RolloutGateway, { number, stableCommit, stableRevision }: RolloutStatus): boolean {
  return report?.commit === stableCommit && report.revision === stableRevision && report.rollout === number;
}

/**
 * Who is waited for while all go back: not for what came since, which gets nothing else, nor for what was not ready
 * before, unless it has what everybody is to leave, which may be why.
 */
export function notBack(rollout: RolloutStatus, gateways: readonly RolloutGateway[]): RolloutGateway[] {
  const { startedAt, commit, revision } = rollout;
  const isSkipped = skippedBefore(startedAt);
  const isLater = laterThan(startedAt);
  const isBroken = ({ report }: RolloutGateway) => report?.commit === commit && report.revision === revision;
  return gateways.filter((gateway) => {
    if (gateway.isResting || isBack(gateway, rollout) || isLater(gateway)) return false;
    return isBroken(gateway) || !isSkipped(gateway);
  });
}

/** Tells whether nobody waits for a gateway: it was not ready before a time, so its node may be gone. */
export function skippedBefore(time: string): (gateway: RolloutGateway) => boolean {
  // Kubernetes notes whole seconds.
  const second = Math.floor(Date.parse(time) / 1000) * 1000;
  return ({ notReadySince }) => notReadySince !== undefined && notReadySince < second;
}

/** Tells whether a gateway came after a time: it takes what its wave has. */
export function laterThan(time: string | undefined): (gateway: RolloutGateway) => boolean {
  const at = time === undefined ? Number.POSITIVE_INFINITY : Date.parse(time);
  return ({ createdAt }) => createdAt > at;
}

/** Whether a gateway has had less time than the deadline since it was created, or began to run. */
export const isYoung = ({ createdAt, runsSince = 0 }: RolloutGateway, { now, deadlineMs }: RolloutInput): boolean =>
  now < Math.max(createdAt, runsSince) + deadlineMs;
