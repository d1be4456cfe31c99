import type { RolloutStatus } from '../../shared/api/rollout.ts';
import { isWithin, NO_GATEWAY, waveOf } from '../../shared/domain/waves.ts';
import { currentWave } from './admission.ts';
import { isVerified } from './judge-gateway.ts';
import { unchangedIn } from './preview.ts';
import type { RolloutGateway, RolloutInput } from './rollout-input.ts';
import { standInsOf, type WaveStanding, waveStandingOf } from './wave-standing.ts';

/** Progress of the gateways in the current rollout. */
export interface Standing {
  /** All gateways except for paused ones, and for unchanged ones. */
  counted: RolloutGateway[];
  /** Gateways whose files the release leaves unchanged, including paused ones: they are never waited for. */
  unchanged: Set<RolloutGateway>;
  admitted: Set<RolloutGateway>;
  /** Gateways that have the release and are healthy. */
  verified: Set<RolloutGateway>;
  /** Names of the gateways that report a failure. */
  failing: string[];
  /** The waves, in order. */
  waves: WaveStanding[];
  /** Index of the current wave; undefined if there is none, which doesn't show whether the waves are done. */
  index: number | undefined;
}

/** Progress and input, from which a rollout is judged. */
export interface Context {
  standing: Standing;
  input: RolloutInput;
}

export function standingOf(rollout: RolloutStatus, input: RolloutInput): Standing {
  const { gateways } = input;
  const { admission, number } = rollout;
  const present = admission.map((): RolloutGateway[] => []);
  for (const gateway of gateways) present[waveOf(gateway.fits, gateway.key, admission)]?.push(gateway);
  const reported = unchangedIn(rollout, gateways);
  const unchanged = new Set(reported);
  const standIns = present.map((members, index) => standInsOf(members, { rollout, index, unchanged: reported }));
  for (const gateway of standIns.flat()) unchanged.delete(gateway);
  const doesCount = (gateway: RolloutGateway) => !gateway.isResting && !unchanged.has(gateway);
  const counted = gateways.filter(doesCount);
  const isIn = (index: number) => (gateway: RolloutGateway) =>
    doesCount(gateway) && isWithin(gateway.key, admission[index]?.admitted ?? NO_GATEWAY);
  const admitted = new Set(present.flatMap((members, index) => members.filter(isIn(index))));
  const verified = new Set([...admitted].filter((gateway) => isVerified(gateway, rollout, input)));
  const isFailing = ({ report }: RolloutGateway) => report?.rollout === number && report.state === 'failed';
  return {
    counted,
    unchanged,
    admitted,
    verified,
    failing: [...admitted].filter(isFailing).map(({ name }) => name),
    waves: present.map((members, index) =>
      waveStandingOf(members, {
        rollout,
        index,
        input,
        unchanged,
        admitted,
        verified,
        standIns: standIns[index] ?? [],
      }),
    ),
    index: currentWave(rollout),
  };
}
