import type { RolloutStatus } from '../../shared/api/rollout.ts';
import { NO_GATEWAY } from '../../shared/domain/waves.ts';
import { currentWave } from './admission.ts';
import { hasRelease, isYoung, laterThan, skippedBefore } from './judge-gateway.ts';
import { isUnreadyWithoutPreview, previewOf } from './preview.ts';
import type { RolloutGateway, RolloutInput } from './rollout-input.ts';

/** Progress of one wave. */
export interface WaveStanding {
  /** A gateway that might be gone has reported changes. */
  hadChanges: boolean;
  /** All of its gateways, including paused ones. */
  present: RolloutGateway[];
  /** Its gateways except for paused ones, and for unchanged ones. */
  counted: RolloutGateway[];
  /**
   * Some gateways report that nothing changes for them, and none reports a change or was expected to report. So there
   * is nothing to verify.
   */
  isUnchanged: boolean;
  /**
   * Some gateways report that nothing changes for them, and all others weren't ready before the rollout, or are paused.
   */
  isIdle: boolean;
  /** Its gateways are unchanged, and count only because of a paused one. They don't try the release. */
  isStandIn: boolean;
  /** Gateways that weren't ready before the rollout; it doesn't wait for them. */
  skipped: RolloutGateway[];
  /** Gateways that it waits for, or has waited for. */
  awaited: RolloutGateway[];
  /** Awaited gateways that are neither verified nor failed. */
  pending: RolloutGateway[];
  /** Gateways that run with the release and are unhealthy, including those that it doesn't wait for. */
  unhealthy: RolloutGateway[];
  /** At least one is verified; the rest are verified, or are replacements that may still start. */
  isHealthy: boolean;
  /** The wave is healthy, all awaited gateways are admitted, and few are missing, so it can end. */
  isDone: boolean;
}

interface Circumstances {
  rollout: RolloutStatus;
  index: number;
  input: RolloutInput;
  unchanged: ReadonlySet<RolloutGateway>;
  admitted: ReadonlySet<RolloutGateway>;
  verified: ReadonlySet<RolloutGateway>;
  standIns: readonly RolloutGateway[];
}

/** A wave can end while one in this many of its gateways is a replacement that still starts. */
const MISSING_SHARE = 10;

export function waveStandingOf(present: RolloutGateway[], circumstances: Circumstances): WaveStanding {
  const { rollout, index, input, unchanged, admitted, verified, standIns } = circumstances;
  const { startedAt, admission } = rollout;
  const failed = new Set(rollout.failures);
  const counted = present.filter((gateway) => !gateway.isResting && !unchanged.has(gateway));
  const isLater = laterThan(startedAt);
  const skipped = counted.filter(skippedBefore(startedAt));
  const eligible = counted.filter((gateway) => !skipped.includes(gateway));
  const isUnchanged =
    present.some((gateway) => unchanged.has(gateway)) &&
    present.every((gateway) => unchanged.has(gateway) || isUnreadyWithoutPreview(gateway, rollout));
  const isIdle = eligible.length === 0 && present.some((gateway) => !gateway.isResting && unchanged.has(gateway));
  const awaited = awaitedOf(eligible, circumstances);
  const pending = awaited.filter((gateway) => !verified.has(gateway) && !failed.has(gateway.name));
  const healthy = eligible.filter((gateway) => verified.has(gateway));
  // Gateways created since the rollout began may still start.
  const isStarting = (gateway: RolloutGateway) =>
    isLater(gateway) && (gateway.isUnstarted === true || isYoung(gateway, input));
  const isHealthy = healthy.length > 0 && pending.every(isStarting);
  const mayBeMissing = Math.floor((admission[index]?.gateways ?? 0) / MISSING_SHARE);
  // Gateways that don't block the wave matter as well: if most of them are unhealthy, the others are lucky.
  const unhealthy = counted.filter(
    (gateway) =>
      hasRelease(gateway, rollout) && !gateway.isUnstarted && !verified.has(gateway) && !failed.has(gateway.name),
  );
  const isDone =
    isHealthy &&
    awaited.every((gateway) => admitted.has(gateway)) &&
    pending.length <= mayBeMissing &&
    unhealthy.length <= healthy.length;
  const judged = { skipped, awaited, pending, unhealthy, isHealthy, isDone };
  const hadChanges = hadChangesIn(rollout, index);
  return { present, counted, isUnchanged, isIdle, isStandIn: standIns.length > 0, hadChanges, ...judged };
}

/** Whether a gateway of a wave has reported changes, even if it is gone. */
const hadChangesIn = (rollout: RolloutStatus, index: number): boolean =>
  previewOf(rollout, rollout)?.changedWaves?.includes(rollout.admission[index]?.wave ?? '') === true;

/**
 * Returns the unchanged gateways that count as without previews: in a wave in which only paused gateways can be changed.
 * The paused ones get the release after the wave, so it must not be passed over, and they must not block it.
 */
export function standInsOf(
  present: readonly RolloutGateway[],
  { rollout, index, unchanged }: Pick<Circumstances, 'rollout' | 'index' | 'unchanged'>,
): RolloutGateway[] {
  const others = present.filter((gateway) => !unchanged.has(gateway));
  const isSkipped = skippedBefore(rollout.startedAt);
  const isTriedByOthers = others.some((gateway) => !gateway.isResting && !isSkipped(gateway));
  // A paused gateway can report that it is unchanged after the others were admitted.
  const hasBegun = rollout.admission[index]?.admitted !== NO_GATEWAY;
  const paused = (hasBegun ? present : others).filter(({ isResting }) => isResting);
  const hasPaused = paused.some((gateway) => !isUnreadyWithoutPreview(gateway, rollout));
  if (!hasPaused || isTriedByOthers || hadChangesIn(rollout, index)) return [];
  return present.filter((gateway) => unchanged.has(gateway) && !gateway.isResting);
}

/**
 * Returns the gateways that a wave waits for: all that existed when the rollout began. Later ones count only as
 * replacements, up to the number with which the wave began, the most advanced first. Until one is verified, all count.
 * In a wave that was passed over while it was empty, none does.
 */
function awaitedOf(eligible: RolloutGateway[], { rollout, index, verified }: Circumstances): RolloutGateway[] {
  const { startedAt, admission } = rollout;
  const failed = new Set(rollout.failures);
  const isPassedOver = !admission[index]?.gateways && index < (currentWave(rollout) ?? 0);
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
