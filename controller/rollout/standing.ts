import type { RolloutStatus } from '../../shared/api/rollout.ts';
import { isWithin, NOBODY, waveOf } from '../../shared/domain/waves.ts';
import { waveUnderWay } from './admission.ts';
import { isVerified } from './judge-gateway.ts';
import type { RolloutGateway, RolloutInput } from './rollout-input.ts';
import { type WaveStanding, waveStandingOf } from './wave-standing.ts';

/** How far the gateways are in the rollout that is under way. */
export interface Standing {
  /** All that count: those that rest do not. */
  counted: RolloutGateway[];
  admitted: Set<RolloutGateway>;
  /** They have the release, and are well. */
  verified: Set<RolloutGateway>;
  /** Names of those that say that they cannot have it, or are not well with it. */
  failing: string[];
  /** The waves, in their order. */
  waves: WaveStanding[];
  /** Index of the wave that is under way; undefined where none is, which says nothing of what was done. */
  index: number | undefined;
}

/** Of what a rollout is judged: how far it is, and the input of the step. */
export interface Context {
  standing: Standing;
  input: RolloutInput;
}

export function standingOf(rollout: RolloutStatus, input: RolloutInput): Standing {
  const { gateways } = input;
  const { admission, number } = rollout;
  const counted = gateways.filter(({ isResting }) => !isResting);
  const present = admission.map((): RolloutGateway[] => []);
  const admitted = new Set<RolloutGateway>();
  for (const gateway of gateways) {
    const index = waveOf(gateway.fits, gateway.key, admission);
    present[index]?.push(gateway);
    if (!gateway.isResting && isWithin(gateway.key, admission[index]?.admitted ?? NOBODY)) admitted.add(gateway);
  }
  const verified = new Set([...admitted].filter((gateway) => isVerified(gateway, rollout, input)));
  const isFailing = ({ report }: RolloutGateway) => report?.rollout === number && report.state === 'failed';
  return {
    counted,
    admitted,
    verified,
    failing: [...admitted].filter(isFailing).map(({ name }) => name),
    waves: present.map((members, index) => waveStandingOf(members, { rollout, index, input, admitted, verified })),
    index: waveUnderWay(rollout),
  };
}
