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
  /** Those of a wave. */
  membersOf: (wave: number) => RolloutGateway[];
}

export function standingOf(rollout: RolloutStatus, gateways: readonly RolloutGateway[]): Standing {
  const counted = gateways.filter(({ isResting }) => !isResting);
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
    membersOf: (wave) => counted.filter(({ fits, key }) => waveOf(fits, key, rollout.admission) === wave),
  };
}

/** Index of the wave that is under way; -1 where none is. */
export const currentWave = ({ admission, wave }: RolloutStatus): number =>
  admission.findIndex((entry) => entry.wave === wave);

/** Whether a gateway reports the release of this very rollout, and is well with it: an older report proves nothing. */
function hasRelease(gateway: RolloutGateway, { number, commit, revision, startedAt }: RolloutStatus): boolean {
  const { report, notReadySince } = gateway;
  // A pod that is not ready any more may be so because of the release.
  if (notReadySince !== undefined && !isSkipped(gateway, startedAt)) return false;
  const isRelease = report?.commit === commit && report.revision === revision;
  return isRelease && report.rollout === number && report.state === 'well';
}

/** Whether a gateway has the stable release again, since the rollback began: whether it is well with it is another matter. */
export function isBack({ report }: RolloutGateway, { number, stableCommit, stableRevision }: RolloutStatus): boolean {
  return report?.commit === stableCommit && report.revision === stableRevision && report.rollout === number;
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
