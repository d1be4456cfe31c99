import type { RolloutStatus } from '../../shared/api/rollout.ts';
import { waveUnderWay } from './admission.ts';
import { hasRelease, isYoung, laterThan, skippedBefore } from './judge-gateway.ts';
import type { RolloutGateway, RolloutInput } from './rollout-input.ts';

/** How far one wave is. */
export interface WaveStanding {
  /** All of it, also those that rest. */
  present: RolloutGateway[];
  /** Those of it that count. */
  counted: RolloutGateway[];
  /** Those that were not ready before the rollout: nobody waits for them. */
  skipped: RolloutGateway[];
  /** Whom it waits for, or has waited for. */
  awaited: RolloutGateway[];
  /** Those of them that are neither verified nor have failed. */
  pending: RolloutGateway[];
  /** Those that have the release and run, but are not well; also such as nobody waits for. */
  unhealthy: RolloutGateway[];
  /** At least one is verified, and the others are as well, or take the place of one that is gone and may still start. */
  isWell: boolean;
  /** It is well, all that it waits for are let in, and hardly one is missing: it may end, and what comes after it go on. */
  isDone: boolean;
}

interface Circumstances {
  rollout: RolloutStatus;
  index: number;
  input: RolloutInput;
  admitted: ReadonlySet<RolloutGateway>;
  verified: ReadonlySet<RolloutGateway>;
}

/** How many of a wave may be missing when it ends, since they take another one's place and still start: one in so many. */
const MISSING_SHARE = 10;

export function waveStandingOf(present: RolloutGateway[], circumstances: Circumstances): WaveStanding {
  const { rollout, index, input, admitted, verified } = circumstances;
  const { startedAt, admission } = rollout;
  const failed = new Set(rollout.failures);
  const counted = present.filter(({ isResting }) => !isResting);
  const isLater = laterThan(startedAt);
  const skipped = counted.filter(skippedBefore(startedAt));
  const eligible = counted.filter((gateway) => !skipped.includes(gateway));
  const awaited = awaitedOf(eligible, circumstances);
  const pending = awaited.filter((gateway) => !verified.has(gateway) && !failed.has(gateway.name));
  const well = eligible.filter((gateway) => verified.has(gateway));
  // What came since the rollout began may still start.
  const isStarting = (gateway: RolloutGateway) =>
    isLater(gateway) && (gateway.isUnstarted === true || isYoung(gateway, input));
  const isWell = well.length > 0 && pending.every(isStarting);
  const mayBeMissing = Math.floor((admission[index]?.gateways ?? 0) / MISSING_SHARE);
  // Also those that hold nobody up show something: with most of them not well, the others are lucky.
  const unhealthy = counted.filter(
    (gateway) =>
      hasRelease(gateway, rollout) && !gateway.isUnstarted && !verified.has(gateway) && !failed.has(gateway.name),
  );
  const isDone =
    isWell &&
    awaited.every((gateway) => admitted.has(gateway)) &&
    pending.length <= mayBeMissing &&
    unhealthy.length <= well.length;
  return { present, counted, skipped, awaited, pending, unhealthy, isWell, isDone };
}

/**
 * Who counts for a wave: all that were there when the rollout began. What came since holds nobody up, but in place of
 * those that are gone: as many as the wave began with, the ones that are furthest. As long as nobody is verified, all
 * count; in a wave that was over before it had any, nobody does.
 */
function awaitedOf(eligible: RolloutGateway[], { rollout, index, verified }: Circumstances): RolloutGateway[] {
  const { startedAt, admission } = rollout;
  const failed = new Set(rollout.failures);
  const isPassedOver = !admission[index]?.gateways && index < (waveUnderWay(rollout) ?? 0);
  if (isPassedOver) return [];
  if (!eligible.some((gateway) => verified.has(gateway))) return eligible;
  const isLater = laterThan(startedAt);
  const old = eligible.filter((gateway) => !isLater(gateway));
  const rankOf = (gateway: RolloutGateway) => {
    if (verified.has(gateway)) return 0;
    if (failed.has(gateway.name)) return 1;
    return gateway.isUnstarted ? 3 : 2;
  };
  const inPlace = eligible
    .filter(isLater)
    .sort((a, b) => rankOf(a) - rankOf(b) || (a.key < b.key ? -1 : 1))
    .slice(0, Math.max(0, (admission[index]?.gateways ?? 0) - old.length));
  return [...old, ...inPlace];
}
