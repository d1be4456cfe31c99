import { BOUNDS } from '../../shared/api/bounds.ts';
import type { RolloutStatus } from '../../shared/api/rollout.ts';
import { currentWave } from './admission.ts';
import type { Facts } from './facts.ts';
import { createdAfter, hasCrashed, restartOf } from './judge-gateway.ts';
import type { RolloutGateway, RolloutInput } from './rollout-input.ts';
import { iso, unlessEmpty } from './transitions.ts';

/** Returns the gateways in progress that are late, the first one first. Replacements that have never run never are. */
export function lateOnes(facts: Facts): RolloutGateway[] {
  const { rollout, input } = facts;
  if (rollout.admittedAt === undefined) return [];
  const isLater = createdAfter(rollout.startedAt);
  return inProgress(facts)
    .filter((gateway) => !gateway.isUnstarted || !isLater(gateway))
    .map((gateway) => ({ gateway, due: dueOf(gateway, rollout, input) }))
    .filter(({ due }) => due <= input.now)
    .sort((a, b) => a.due - b.due)
    .map(({ gateway }) => gateway);
}

/**
 * Returns when a gateway in progress is late: after the whole deadline. It starts at the latest of its admission, its
 * creation, its first start, the first change of its readiness, and the time when it became unhealthy after it was
 * verified. So neither a restart nor flapping readiness moves it. A crash in the first deadline moves nothing. Other
 * gateways never move it.
 */
function dueOf(gateway: RolloutGateway, rollout: RolloutStatus, { deadlineMs }: RolloutInput): number {
  const { createdAt, runsSince = 0 } = gateway;
  const entry = rollout.inProgress?.find(({ name }) => name === gateway.name);
  const since = entry ? Date.parse(entry.since) : unlistedSince(gateway, rollout);
  // The last admission of any gateway. A gateway that was in progress before was admitted earlier.
  const first = Math.max(Math.min(since, timeOf(rollout.admittedAt)), createdAt);
  if (hasCrashed(gateway, rollout) && since < first + deadlineMs) return first + deadlineMs;
  const startedAt = restartOf(gateway, rollout) === undefined ? runsSince : 0;
  return Math.max(first, since, timeOf(entry?.readinessChangedAt), startedAt) + deadlineMs;
}

const timeOf = (time: string | undefined): number => (time === undefined ? 0 : Date.parse(time));

/** When a wave exceeds its deadline and soak, counted from the last admission (ms since the epoch). */
export function lateAt(rollout: RolloutStatus, { deadlineMs, soakMs }: RolloutInput): number | undefined {
  const { waveStartedAt, admittedAt = waveStartedAt } = rollout;
  if (waveStartedAt === undefined || admittedAt === undefined) return undefined;
  const soak = soakMs[currentWave(rollout) ?? 0] ?? 0;
  return Math.max(Date.parse(waveStartedAt), Date.parse(admittedAt)) + deadlineMs + soak;
}

/** Gateways with the release that the waves up to the current one wait for. */
const inProgress = ({ waves, released, wave }: Facts): RolloutGateway[] =>
  waves.slice(0, (wave?.index ?? -1) + 1).flatMap(({ pending }) => pending.filter((gateway) => released.has(gateway)));

/** Returns the times from which deadlines count, and the soak, which an unhealthy gateway interrupts. */
export function timesOf(facts: Facts): Partial<RolloutStatus> {
  const { rollout, wave, verified, counted } = facts;
  const progress = progressOf(facts);
  const isAlone = progress.length === 0 && wave?.awaited.length === 0;
  return {
    // A rollout that completes in this step keeps these.
    verified: verified.size,
    total: counted.length,
    soakStartedAt: wave?.isHealthy ? rollout.soakStartedAt : undefined,
    inProgress: unlessEmpty(progress),
    // If the last gateway in progress is gone, the wait for another one begins.
    waitsFor: isAlone && rollout.inProgress ? undefined : rollout.waitsFor,
  };
}

type Progress = NonNullable<RolloutStatus['inProgress']>;

/**
 * Returns the gateways in progress, and since when. If there may have been others, new ones were in progress before. A
 * verified one that was disturbed stays for the deadline, so that being healthy in between gives it no more time.
 */
function progressOf(facts: Facts): Progress {
  const { rollout, counted, verified, input } = facts;
  const { inProgress: before = [] } = rollout;
  const createdAt = new Map(counted.map((gateway) => [gateway.name, gateway.createdAt]));
  // A pod of a StatefulSet has the name of the one that it replaced.
  const isReplaced = ({ name, since }: Progress[number]) => Date.parse(since) < (createdAt.get(name) ?? 0);
  const replaced = new Set(before.filter(isReplaced).map(({ name }) => name));
  const entryOf = new Map(before.filter(({ name }) => !replaced.has(name)).map((entry) => [entry.name, entry]));
  const isFull = before.length === BOUNDS.inProgress;
  const newSince = (gateway: RolloutGateway) => {
    if (isFull) return unlistedSince(gateway, rollout);
    return replaced.has(gateway.name) || hasNeverBeenReady(gateway, rollout)
      ? admissionOf(gateway, rollout)
      : input.now;
  };
  const isKept = (gateway: RolloutGateway) => {
    const entry = entryOf.get(gateway.name);
    return entry !== undefined && input.now < disturbedAt(gateway, entry, rollout) + input.deadlineMs;
  };
  const gateways = [...inProgress(facts), ...[...verified].filter(isKept)];
  const isKnown = ({ name }: RolloutGateway) => Number(entryOf.has(name));
  return gateways
    .sort((a, b) => isKnown(b) - isKnown(a))
    .slice(0, BOUNDS.inProgress)
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map((gateway) => {
      const { name } = gateway;
      return withReadiness(entryOf.get(name) ?? { name, since: iso(newSince(gateway)) }, gateway, rollout);
    });
}

/** When a gateway was admitted at the latest: others can have been admitted after it, but a new one was at its creation. */
const admissionOf = ({ createdAt }: RolloutGateway, { startedAt, admittedAt = startedAt }: RolloutStatus): number =>
  Math.max(Date.parse(admittedAt), createdAt);

/** Since when a gateway for which the list has no room has been in progress, at the latest. */
const unlistedSince = (gateway: RolloutGateway, rollout: RolloutStatus): number =>
  Math.max(admissionOf(gateway, rollout), gateway.notReadySince ?? 0);

/** Whether a new gateway can't have been verified, whenever the controller saw it first. */
function hasNeverBeenReady(gateway: RolloutGateway, rollout: RolloutStatus): boolean {
  const { isUnstarted, notReadySince = Number.POSITIVE_INFINITY, createdAt, runsSince = 0 } = gateway;
  if (isUnstarted) return true;
  return notReadySince <= Math.max(createdAt, runsSince) && restartOf(gateway, rollout) === undefined;
}

/** Whether a gateway was verified before the time in its entry, which is then not the one of its admission. */
const wasVerified = ({ since }: Progress[number], gateway: RolloutGateway, rollout: RolloutStatus): boolean =>
  Date.parse(since) > admissionOf(gateway, rollout);

/**
 * Returns when a gateway was last unhealthy for certain: it crashed or, after it was verified once, restarted or became
 * not ready. Many restart once, or aren't ready for a moment, to take a release, which must not count against them.
 */
function disturbedAt(gateway: RolloutGateway, entry: Progress[number], rollout: RolloutStatus): number {
  const { crashedAt = 0, readySince = 0 } = gateway;
  const last = wasVerified(entry, gateway, rollout)
    ? Math.max(restartOf(gateway, rollout) ?? 0, readySince)
    : crashedAt;
  return last >= Date.parse(rollout.startedAt) ? last : Number.NEGATIVE_INFINITY;
}

/** Notes when the readiness of a gateway first changed after its admission, unless the cause can be a restart. */
function withReadiness(entry: Progress[number], gateway: RolloutGateway, rollout: RolloutStatus): Progress[number] {
  const changedAt = gateway.notReadySince ?? gateway.readySince ?? 0;
  const isFirst = entry.readinessChangedAt === undefined && changedAt > timeOf(entry.since);
  const isMoved = isFirst && !wasVerified(entry, gateway, rollout) && restartOf(gateway, rollout) === undefined;
  return isMoved ? { ...entry, readinessChangedAt: iso(changedAt) } : entry;
}

/** Whether a wave has waited for gateways that count for the whole deadline. */
export const isEmptyForLong = (
  { waitsFor, waitsSince }: RolloutStatus,
  { now, deadlineMs }: Pick<RolloutInput, 'now' | 'deadlineMs'>,
): boolean => waitsFor === 'Gateways' && waitsSince !== undefined && now >= Date.parse(waitsSince) + deadlineMs;
