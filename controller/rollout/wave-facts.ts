import type { RolloutStatus } from '../../shared/api/rollout.ts';
import { isOnRelease } from '../../shared/domain/rollout/releases.ts';
import { isWithin, NO_GATEWAY } from '../../shared/domain/rollout/waves.ts';
import { currentWave, hadGateways } from './admission.ts';
import { createdAfter, hasRelease, isYoung, unreadyBefore } from './judge-gateway.ts';
import { previewOf, previewsOf } from './preview.ts';
import type { RolloutGateway, RolloutInput } from './rollout-input.ts';

/** The standing of one wave. */
export interface WaveFacts {
  index: number;
  /** All of its gateways, including paused ones. */
  members: RolloutGateway[];
  /** Its gateways except for paused ones, and for those that the release leaves unchanged. */
  counted: RolloutGateway[];
  /** Counted gateways that weren't ready before the rollout; it doesn't wait for them. */
  unready: RolloutGateway[];
  /** Gateways that it waits for, or has waited for. */
  awaited: RolloutGateway[];
  /** Awaited gateways that are neither verified nor failed. */
  pending: RolloutGateway[];
  /** Gateways that run with the release and aren't healthy, including those that it doesn't wait for. */
  unhealthy: RolloutGateway[];
  /** Counted gateways that are verified. */
  verified: RolloutGateway[];
  /** All members, even paused ones, may have the release. Those that join the wave later get it at once. */
  isEachReleased: boolean;
  /** At least one is verified; the others are verified, failed, or replacements that may still start. */
  isHealthy: boolean;
  /** Its gateways are healthy, and it hasn't soaked for long enough. */
  mustSoak: boolean;
  /** It is healthy, and few gateways are missing. */
  isDone: boolean;
  /** It has, or has had, gateways, so it needs a verified one. */
  hadGateways: boolean;
  /** All of its gateways have reported that the release leaves them unchanged. */
  canBeSkipped: boolean;
}

/** The standing of all gateways in a rollout. */
export interface Standing {
  rollout: RolloutStatus;
  input: RolloutInput;
  /** Gateways whose files the release leaves unchanged, including paused ones. They are never verified, or waited for. */
  unchanged: ReadonlySet<RolloutGateway>;
  /** Gateways that count and may have the release. */
  released: ReadonlySet<RolloutGateway>;
  /** Those that have it, and are healthy. */
  verified: ReadonlySet<RolloutGateway>;
}

/** A wave can end while one in this many of its gateways is a replacement that still starts. */
const MISSING_SHARE = 10;

export function waveFacts(members: RolloutGateway[], index: number, standing: Standing): WaveFacts {
  const { rollout, input, unchanged, released, verified } = standing;
  const { startedAt, admission } = rollout;
  const failed = new Set(rollout.failures);
  const counted = members.filter((gateway) => !gateway.isPaused && !unchanged.has(gateway));
  const isLater = createdAfter(startedAt);
  const unready = counted.filter(unreadyBefore(startedAt));
  const eligible = counted.filter((gateway) => !unready.includes(gateway));
  const awaited = awaitedOf(eligible, index, { ...standing, isLater, failed });
  const pending = awaited.filter((gateway) => !verified.has(gateway) && !failed.has(gateway.name));
  const healthy = eligible.filter((gateway) => verified.has(gateway));
  const isStarting = (gateway: RolloutGateway) =>
    isLater(gateway) && (gateway.isUnstarted === true || isYoung(gateway, input));
  const isHealthy = healthy.length > 0 && pending.every(isStarting);
  const mayBeMissing = Math.floor((admission[index]?.gateways ?? 0) / MISSING_SHARE);
  // Gateways that don't block the wave matter as well: if most of them are unhealthy, the others are lucky.
  const unhealthy = counted.filter(
    (gateway) =>
      hasRelease(gateway, rollout) && !gateway.isUnstarted && !verified.has(gateway) && !failed.has(gateway.name),
  );
  const isAllReleased = awaited.every((gateway) => released.has(gateway));
  return {
    index,
    members,
    counted,
    unready,
    awaited,
    pending,
    unhealthy,
    verified: counted.filter((gateway) => verified.has(gateway)),
    isEachReleased: members.every(({ key }) => isWithin(key, admission[index]?.admitted ?? NO_GATEWAY)),
    isHealthy,
    mustSoak: isHealthy && isAllReleased && hasToSoak(rollout, index, input),
    isDone: isHealthy && isAllReleased && pending.length <= mayBeMissing && unhealthy.length <= healthy.length,
    hadGateways: hadGateways(admission[index]),
    canBeSkipped: canBeSkipped(members, index, standing),
  };
}

/**
 * A wave needs no trial if it has a gateway and each of them, paused or not, has reported that the release leaves it
 * unchanged. One that wasn't ready before the preview is left out if it hasn't reported. A gateway that reported a
 * change counts even after it is gone, because its replacement may be about to start.
 */
function canBeSkipped(members: readonly RolloutGateway[], index: number, { rollout, unchanged }: Standing): boolean {
  const { wave = '' } = rollout.admission[index] ?? {};
  const preview = previewOf(rollout, rollout);
  if (!preview || preview.changedWaves?.includes(wave)) return false;
  const isUnready = unreadyBefore(preview.startedAt);
  const isLeftOut = (gateway: RolloutGateway) =>
    isUnready(gateway) &&
    // One that has a replaced release can't have reported yet.
    isOnRelease(gateway.report ?? {}, rollout) &&
    previewsOf(rollout, rollout, [gateway]).length === 0;
  return (
    members.some((gateway) => unchanged.has(gateway)) &&
    members.every((gateway) => unchanged.has(gateway) || isLeftOut(gateway))
  );
}

/** Whether a healthy wave hasn't soaked for long enough. A soak that hasn't begun begins now. */
function hasToSoak({ soakStartedAt }: RolloutStatus, index: number, { soakMs, now }: RolloutInput): boolean {
  const since = soakStartedAt === undefined ? now : Date.parse(soakStartedAt);
  return now - since < (soakMs[index] ?? 0);
}

interface AwaitedStanding extends Standing {
  isLater: (gateway: RolloutGateway) => boolean;
  /** Names. */
  failed: ReadonlySet<string>;
}

/**
 * Returns the gateways that a wave waits for: all that existed when the rollout began. Later ones count only as
 * replacements, up to the number with which the wave began, the most advanced first. Until one is verified, all count.
 * In a wave that ended while it was empty, none does.
 */
function awaitedOf(
  eligible: RolloutGateway[],
  index: number,
  { rollout, verified, isLater, failed }: AwaitedStanding,
): RolloutGateway[] {
  const size = rollout.admission[index]?.gateways ?? 0;
  const hasEndedEmpty = size === 0 && index < (currentWave(rollout) ?? 0);
  if (hasEndedEmpty) return [];
  if (!eligible.some((gateway) => verified.has(gateway))) return eligible;
  const old = eligible.filter((gateway) => !isLater(gateway));
  const rankOf = (gateway: RolloutGateway) => {
    if (verified.has(gateway)) return 0;
    if (failed.has(gateway.name)) return 1;
    return gateway.isUnstarted ? 3 : 2;
  };
  const replacements = eligible
    .filter(isLater)
    .sort((a, b) => rankOf(a) - rankOf(b) || (a.key < b.key ? -1 : 1))
    .slice(0, Math.max(0, size - old.length));
  return [...old, ...replacements];
}
