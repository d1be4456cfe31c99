import type { RolloutPhase, RolloutStatus } from '../../shared/api/rollout.ts';
import { isOnRelease, previewOf } from '../../shared/domain/rollout/releases.ts';
import { isWithin, waveOf } from '../../shared/domain/rollout/waves.ts';
import { type Admission, currentWave, hadGateways, isReleasedIn } from './admission.ts';
import { createdAfter, hasRelease, isVerified, isYoung, unreadyBefore } from './judge-gateway.ts';
import type { Move } from './moves.ts';
import { previewsOf, unchangedIn } from './preview.ts';
import type { RolloutGateway, RolloutInput } from './rollout-input.ts';

/** The standing of all gateways and waves in a rollout, computed once for each move of the machine. */
export interface Facts {
  rollout: RolloutStatus;
  input: RolloutInput;
  /** Gateways whose files the release leaves unchanged, including paused ones. They are never verified, or waited for. */
  unchanged: ReadonlySet<RolloutGateway>;
  /** Gateways that aren't paused, and that the release changes: only they can verify it. */
  counted: RolloutGateway[];
  /** Counted gateways that may have the release. */
  released: ReadonlySet<RolloutGateway>;
  /** Those that have it, and are healthy. */
  verified: ReadonlySet<RolloutGateway>;
  /** The waves, in order. */
  waves: WaveFacts[];
  /** The current wave, if there is one. */
  wave: WaveFacts | undefined;
  /** An earlier wave that is no longer healthy. Until it is, no other wave begins, admits gateways, or ends. */
  unhealthyWave: WaveFacts | undefined;
  /** No gateway has the release yet, which leaves all of them unchanged. */
  changesNothing: boolean;
  /** Starts the newest release, if it can begin. */
  start?: Move | undefined;
  /** Why the newest release waits, or why the current one can't continue. */
  newestWait?: Wait | undefined;
}

/** The standing of one wave. */
export interface WaveFacts {
  index: number;
  /** Its name, and which gateways it admits. */
  entry: Admission[number];
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
  /** The release leaves at least one of its gateways unchanged. */
  hasUnchanged: boolean;
  /** All of its gateways have reported that the release leaves them unchanged. */
  canBeSkipped: boolean;
}

/** Why the machine stays in its phase; `none` if there is nothing more to tell. */
export type Wait =
  | { kind: 'none' }
  | { kind: 'window' | 'approval' | 'soak' | 'givenUp' | 'preview' }
  /** Gateways of a wave, or gateways that it doesn't have and without which the release can't be verified. */
  | { kind: 'gateways' | 'noGateway'; wave: WaveFacts };

/** A move, or the reason why the machine stays in its phase. */
export type Next<To extends RolloutPhase = RolloutPhase> = Move<To> | { wait: Wait };

export function factsOf(rollout: RolloutStatus, input: RolloutInput): Facts {
  const { admission } = rollout;
  const unchanged = unchangedIn(rollout, input.gateways);
  const counted = input.gateways.filter((gateway) => !gateway.isPaused && !unchanged.has(gateway));
  const released = new Set(counted.filter((gateway) => isReleasedIn(gateway, admission)));
  const verified = new Set([...released].filter((gateway) => isVerified(gateway, rollout, input)));
  const standing = { rollout, input, unchanged, released, verified };
  const members = Map.groupBy(input.gateways, ({ fits, key }) => waveOf(fits, key, admission));
  const waves = admission.map((entry, index) =>
    waveFacts({ entry, index, members: members.get(index) ?? [] }, standing),
  );
  const wave = waves[currentWave(rollout) ?? -1];
  return {
    ...standing,
    counted,
    waves,
    wave,
    unhealthyWave: wave && unhealthyBefore(wave, waves),
    changesNothing: changesNothing(rollout, waves),
  };
}

/** Returns the first unhealthy wave before another one. One that lost its gateways only matters if no other has any. */
function unhealthyBefore({ index }: WaveFacts, waves: readonly WaveFacts[]): WaveFacts | undefined {
  return waves.slice(0, index).find((wave) => {
    if (!wave.hadGateways || wave.isDone) return false;
    return (
      wave.counted.length > 0 || !waves.slice(wave.index + 1, index + 1).some(({ verified }) => verified.length > 0)
    );
  });
}

/** In a wave that lost its gateways, replacements may be changed. */
const changesNothing = ({ admittedAt }: RolloutStatus, waves: readonly WaveFacts[]): boolean =>
  admittedAt === undefined &&
  waves.some(({ canBeSkipped }) => canBeSkipped) &&
  waves.every((wave) => wave.canBeSkipped || (wave.members.length === 0 && !wave.hadGateways));

type Standing = Pick<Facts, 'rollout' | 'input' | 'unchanged' | 'released' | 'verified'>;
type Wave = Pick<WaveFacts, 'index' | 'entry' | 'members'>;

/** A wave can end while one in this many of its gateways is a replacement that still starts. */
const MISSING_SHARE = 10;

function waveFacts(wave: Wave, standing: Standing): WaveFacts {
  const { rollout, input, unchanged, released } = standing;
  const { startedAt, soakStartedAt, failures } = rollout;
  const { entry, index, members } = wave;
  const failed = new Set(failures);
  const isVerifiedOne = (gateway: RolloutGateway) => standing.verified.has(gateway);
  const isOpen = (gateway: RolloutGateway) => !isVerifiedOne(gateway) && !failed.has(gateway.name);
  const isLater = createdAfter(startedAt);
  const isStarting = (gateway: RolloutGateway) =>
    isLater(gateway) && (gateway.isUnstarted === true || isYoung(gateway, input));

  const hasUnchanged = members.some((gateway) => unchanged.has(gateway));
  const counted = members.filter((gateway) => !gateway.isPaused && !unchanged.has(gateway));
  const unready = counted.filter(unreadyBefore(startedAt));
  const eligible = counted.filter((gateway) => !unready.includes(gateway));
  const awaited = awaitedOf(eligible, wave, standing);
  const pending = awaited.filter(isOpen);
  const verified = counted.filter(isVerifiedOne);
  // Gateways that don't block the wave matter as well: if most of them are unhealthy, the others are lucky.
  const unhealthy = counted.filter(
    (gateway) => hasRelease(gateway, rollout) && !gateway.isUnstarted && isOpen(gateway),
  );
  const isHealthy = verified.length > 0 && pending.every(isStarting);
  const isAllReleased = awaited.every((gateway) => released.has(gateway));
  // A soak that hasn't begun begins now.
  const soakedMs = input.now - (soakStartedAt === undefined ? input.now : Date.parse(soakStartedAt));
  const mayBeMissing = Math.floor((entry.gateways ?? 0) / MISSING_SHARE);
  return {
    ...wave,
    counted,
    unready,
    awaited,
    pending,
    unhealthy,
    verified,
    isEachReleased: members.every(({ key }) => isWithin(key, entry.admitted)),
    isHealthy,
    mustSoak: isHealthy && isAllReleased && soakedMs < (input.soakMs[index] ?? 0),
    isDone: isHealthy && isAllReleased && pending.length <= mayBeMissing && unhealthy.length <= verified.length,
    hadGateways: hadGateways(entry),
    hasUnchanged,
    canBeSkipped: hasUnchanged && canBeSkipped(wave, standing),
  };
}

/**
 * A wave needs no trial if it has a gateway and each of them, paused or not, has reported that the release leaves it
 * unchanged. One that wasn't ready before the preview is left out if it hasn't reported, unless the wave needs an
 * approval, which the change of such a gateway would then miss. A gateway that reported a
 * change counts even after it is gone, because its replacement may be about to start.
 */
function canBeSkipped({ entry, index, members }: Wave, { rollout, input, unchanged }: Standing): boolean {
  const preview = previewOf(rollout, rollout);
  if (!preview || preview.changedWaves?.includes(entry.wave)) return false;
  const isUnready = unreadyBefore(preview.startedAt);
  const needsApproval = input.spec.waves?.[index]?.approval === true;
  const isLeftOut = (gateway: RolloutGateway) =>
    !needsApproval &&
    isUnready(gateway) &&
    // One that has a replaced release can't have reported yet.
    isOnRelease(gateway.report ?? {}, rollout) &&
    previewsOf(rollout, rollout, [gateway]).length === 0;
  return members.every((gateway) => unchanged.has(gateway) || isLeftOut(gateway));
}

/**
 * Returns the gateways that a wave waits for: all that existed when the rollout began. Later ones count only as
 * replacements, up to the number with which the wave began, the most advanced first. Until one is verified, all count.
 * In a wave that ended while it was empty, none does.
 */
function awaitedOf(eligible: RolloutGateway[], { entry, index }: Wave, { rollout, verified }: Standing) {
  const { failures = [], startedAt } = rollout;
  const { gateways: size = 0 } = entry;
  const hasEndedEmpty = size === 0 && index < (currentWave(rollout) ?? 0);
  if (hasEndedEmpty) return [];
  if (!eligible.some((gateway) => verified.has(gateway))) return eligible;
  const rankOf = (gateway: RolloutGateway) => {
    if (verified.has(gateway)) return 0;
    if (failures.includes(gateway.name)) return 1;
    return gateway.isUnstarted ? 3 : 2;
  };
  const isLater = createdAfter(startedAt);
  const old = eligible.filter((gateway) => !isLater(gateway));
  const replacements = eligible
    .filter(isLater)
    .sort((a, b) => rankOf(a) - rankOf(b) || (a.key < b.key ? -1 : 1))
    .slice(0, Math.max(0, size - old.length));
  return [...old, ...replacements];
}
