import type { RolloutStatus } from '../../shared/api/rollout.ts';
import { waveOf } from '../../shared/domain/waves.ts';
import { isAdmitted } from './admission.ts';
import type { RolloutGateway } from './rollout-input.ts';

/** How far the gateways are in the rollout that is under way. */
export interface Standing {
  /** All that count: those that rest do not. */
  counted: RolloutGateway[];
  admitted: RolloutGateway[];
  /** They have the release, and are well. */
  verified: Set<RolloutGateway>;
  /** Names of those that say that they cannot have it, or are not well with it. */
  failing: Set<string>;
  /** All of a wave, also those that rest. */
  presentIn: (wave: number | undefined) => RolloutGateway[];
  /** Those of a wave that count. */
  membersOf: (wave: number | undefined) => RolloutGateway[];
}

export function standingOf(rollout: RolloutStatus, gateways: readonly RolloutGateway[]): Standing {
  const counted = gateways.filter(({ isResting }) => !isResting);
  const isIn =
    (wave: number | undefined) =>
    ({ fits, key }: RolloutGateway) =>
      waveOf(fits, key, rollout.admission) === wave;
  const admitted = counted.filter((gateway) => isAdmitted(gateway, rollout.admission));
  return {
    counted,
    admitted,
    verified: new Set(admitted.filter((gateway) => hasRelease(gateway, rollout))),
    failing: new Set(
      admitted.flatMap(({ name, report }) =>
        report?.rollout === rollout.number && report.state === 'failed' ? name : [],
      ),
    ),
    presentIn: (wave) => gateways.filter(isIn(wave)),
    membersOf: (wave) => counted.filter(isIn(wave)),
  };
}

/** Index of the wave that is under way; undefined where none is, which says nothing of what was done. */
export function waveUnderWay({ admission, wave }: RolloutStatus): number | undefined {
  const index = admission.findIndex((entry) => entry.wave === wave);
  return index === -1 ? undefined : index;
}

/** Whether a gateway reports the release of this very rollout, and is well with it: an older report proves nothing. */
function hasRelease({ report, notReadySince }: RolloutGateway, { number, commit, revision }: RolloutStatus): boolean {
  // A pod that is not ready is not well, whatever its agent says, and whether or not the release is why.
  if (notReadySince !== undefined) return false;
  const isRelease = report?.commit === commit && report.revision === revision;
  return isRelease && report.rollout === number && report.state === 'well';
}

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
  const isBroken = ({ report }: RolloutGateway) => report?.commit === commit && report.revision === revision;
  return gateways.filter((gateway) => {
    if (gateway.isResting || isBack(gateway, rollout) || isLater(gateway, startedAt)) return false;
    return isBroken(gateway) || !isSkipped(gateway, startedAt);
  });
}

/** Whether nobody waits for a gateway: it was not ready before a time, so its node may be gone. */
export function isSkipped({ notReadySince }: RolloutGateway, time: string): boolean {
  // Kubernetes notes whole seconds.
  const second = Math.floor(Date.parse(time) / 1000) * 1000;
  return notReadySince !== undefined && notReadySince < second;
}

/** Whether a gateway came after a time: it takes what its wave has, and holds nobody up. */
export function isLater({ createdAt }: RolloutGateway, time: string | undefined): boolean {
  return time !== undefined && createdAt > Date.parse(time);
}
