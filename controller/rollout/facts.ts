import type { RolloutStatus } from '../../shared/api/rollout.ts';
import { waveOf } from '../../shared/domain/rollout/waves.ts';
import { currentWave, isReleasedIn } from './admission.ts';
import { isVerified } from './judge-gateway.ts';
import type { Move, Rollout, Wait } from './moves.ts';
import { unchangedIn } from './preview.ts';
import type { RolloutGateway, RolloutInput } from './rollout-input.ts';
import { type Standing, type WaveFacts, waveFacts } from './wave-facts.ts';

/** The standing of all gateways and waves in a rollout, computed once for each move of the machine. */
export interface Facts extends Standing {
  rollout: Rollout;
  /** Gateways that aren't paused, and that the release changes: only they can verify it. */
  counted: RolloutGateway[];
  /** The waves, in order. */
  waves: WaveFacts[];
  /** The current wave, if there is one. */
  wave: WaveFacts | undefined;
  /** An earlier wave that is no longer healthy. Until it is, no other wave begins, admits gateways, or ends. */
  unhealthyWave: WaveFacts | undefined;
  /** Starts the newest release, if it can begin. */
  start?: Move | undefined;
  /** Why the newest release waits, or why the current one can't continue. */
  newestWait?: Wait | undefined;
  /** No gateway has the release yet, which leaves all of them unchanged. */
  changesNothing: boolean;
}

export function factsOf(rollout: Rollout, input: RolloutInput): Facts {
  const { admission } = rollout;
  const members = admission.map((): RolloutGateway[] => []);
  for (const gateway of input.gateways) members[waveOf(gateway.fits, gateway.key, admission)]?.push(gateway);
  const unchanged = unchangedIn(rollout, input.gateways);
  const counted = input.gateways.filter((gateway) => !gateway.isPaused && !unchanged.has(gateway));
  const released = counted.filter((gateway) => isReleasedIn(gateway, admission));
  const verified = new Set(released.filter((gateway) => isVerified(gateway, rollout, input)));
  const sets = { unchanged, released: new Set(released), verified };
  const waves = members.map((each, index) => waveFacts(each, index, { rollout, input, ...sets }));
  const wave = waves[currentWave(rollout) ?? -1];
  return {
    rollout,
    input,
    ...sets,
    counted,
    waves,
    wave,
    unhealthyWave: wave && unhealthyBefore(wave, waves),
    changesNothing: changesNothing(rollout, waves),
  };
}

/** Returns the first unhealthy wave before another one. One that lost its gateways only matters if no other has any. */
function unhealthyBefore({ index }: WaveFacts, waves: readonly WaveFacts[]): WaveFacts | undefined {
  return waves.slice(0, index).find(({ index: at, hadGateways, isDone, counted }) => {
    if (!hadGateways || isDone) return false;
    return counted.length > 0 || !waves.slice(at + 1, index + 1).some(({ verified }) => verified.length > 0);
  });
}

/** In a wave that lost its gateways, replacements may be changed. */
const changesNothing = ({ admittedAt }: RolloutStatus, waves: readonly WaveFacts[]): boolean =>
  admittedAt === undefined &&
  waves.some(({ canBeSkipped }) => canBeSkipped) &&
  waves.every(({ canBeSkipped, hadGateways, members }) => canBeSkipped || (members.length === 0 && !hadGateways));
