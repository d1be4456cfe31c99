import { BOUNDS } from '../../shared/api/bounds.ts';
import type { RolloutStatus } from '../../shared/api/rollout.ts';
import { formatDuration } from '../../shared/domain/duration.ts';
import { currentWave } from './admission.ts';
import { hasCrashed, laterThan, recoversAt, restartOf } from './judge-gateway.ts';
import { iso, unlessEmpty } from './lifecycle.ts';
import type { RolloutGateway, RolloutInput, RolloutState } from './rollout-input.ts';
import type { Context, Standing } from './standing.ts';

/**
 * Records failed gateways, the reason of the first one (nothing else shows it after a rollback), and since when others
 * have been in progress. A failure is final.
 */
export function noteFailures(rollout: RolloutStatus, context: Context): RolloutStatus {
  const { standing, input } = context;
  const timed = withTimes(withFailures(rollout, standing.failing), context);
  const late = lateOnes(timed, context).filter(({ due }) => due <= input.now);
  const noted = withFailures(
    timed,
    late.map(({ gateway }) => gateway.name),
  );
  const [first] = noted.failures ?? [];
  if (first === undefined || first === rollout.failures?.[0]) return noted;
  const failureMessage = reasonOf(first, context);
  return failureMessage === '' ? noted : { ...noted, failureMessage };
}

/** Times at which the clock alone can change something (ms since the epoch). */
export function duesOf(rollout: RolloutStatus, context: Context): number[] {
  const { standing, input } = context;
  return [
    ...lateOnes(rollout, context).map(({ due }) => due),
    ...standing.counted.flatMap((gateway) => [
      gateway.createdAt + input.deadlineMs,
      (gateway.runsSince ?? 0) + input.deadlineMs,
      (restartOf(gateway, rollout) ?? 0) + input.deadlineMs,
      (gateway.readySince ?? 0) + input.deadlineMs,
      recoversAt(gateway, rollout, input),
    ]),
  ];
}

/**
 * Returns gateways in progress, and when each is late. Gateways that have never run are excluded, and so are additional
 * ones.
 */
function lateOnes(rollout: RolloutStatus, { standing, input }: Context): { gateway: RolloutGateway; due: number }[] {
  if (rollout.admittedAt === undefined) return [];
  const isLater = laterThan(rollout.startedAt);
  const isJudged = (gateway: RolloutGateway) => !gateway.isUnstarted || !isLater(gateway);
  return inProgress(standing)
    .filter(isJudged)
    .map((gateway) => ({ gateway, due: dueOf(gateway, rollout, input) }))
    .sort((a, b) => a.due - b.due);
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

/** Admitted gateways that the waves up to the current one wait for. */
function inProgress({ waves, admitted, index = -1 }: Standing): RolloutGateway[] {
  return waves.slice(0, index + 1).flatMap(({ pending }) => pending.filter((gateway) => admitted.has(gateway)));
}

/** Updates the times from which deadlines count, and the soak, which an unhealthy gateway interrupts. */
function withTimes(rollout: RolloutStatus, context: Context): RolloutStatus {
  const { waves, index = -1, verified, counted } = context.standing;
  return {
    ...rollout,
    // A rollout that completes in this step keeps these.
    verified: verified.size,
    total: counted.length,
    soakStartedAt: waves[index]?.isHealthy ? rollout.soakStartedAt : undefined,
    inProgress: unlessEmpty(progressOf(rollout, context)),
  };
}

type Progress = NonNullable<RolloutStatus['inProgress']>;

/**
 * Returns the gateways in progress, and since when. If there may have been others, new ones were in progress before. A
 * verified one that was disturbed stays for the deadline, so that being healthy in between gives it no more time.
 */
function progressOf({ inProgress: before = [], ...rollout }: RolloutStatus, { standing, input }: Context): Progress {
  const createdAt = new Map(standing.counted.map((gateway) => [gateway.name, gateway.createdAt]));
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
  const gateways = [...inProgress(standing), ...[...standing.verified].filter(isKept)];
  const isKnown = ({ name }: RolloutGateway) => entryOf.has(name);
  return [...gateways.filter(isKnown), ...gateways.filter((gateway) => !isKnown(gateway))]
    .slice(0, BOUNDS.inProgress)
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map((gateway) => {
      const { name } = gateway;
      return withReadiness(entryOf.get(name) ?? { name, since: iso(newSince(gateway)) }, gateway, rollout);
    });
}

type AdmissionTimes = Pick<RolloutStatus, 'startedAt' | 'admittedAt'>;

/** When a gateway was admitted at the latest: others can have been admitted after it, but a new one was at its creation. */
const admissionOf = ({ createdAt }: RolloutGateway, { startedAt, admittedAt = startedAt }: AdmissionTimes): number =>
  Math.max(Date.parse(admittedAt), createdAt);

/** Since when a gateway for which the list has no room has been in progress, at the latest. */
const unlistedSince = (gateway: RolloutGateway, rollout: AdmissionTimes): number =>
  Math.max(admissionOf(gateway, rollout), gateway.notReadySince ?? 0);

/** Whether a new gateway can't have been verified, whenever the controller saw it first. */
function hasNeverBeenReady(gateway: RolloutGateway, rollout: AdmissionTimes): boolean {
  const { isUnstarted, notReadySince = Number.POSITIVE_INFINITY, createdAt, runsSince = 0 } = gateway;
  if (isUnstarted) return true;
  return notReadySince <= Math.max(createdAt, runsSince) && restartOf(gateway, rollout) === undefined;
}

/** Whether a gateway was verified before the time in its entry, which is then not the one of its admission. */
const wasVerified = ({ since }: Progress[number], gateway: RolloutGateway, rollout: AdmissionTimes): boolean =>
  Date.parse(since) > admissionOf(gateway, rollout);

/**
 * Returns when a gateway was last unhealthy for certain: it crashed or, after it was verified once, restarted or became
 * not ready. Many restart once, or aren't ready for a moment, to take a release, which must not count against them.
 */
function disturbedAt(gateway: RolloutGateway, entry: Progress[number], rollout: AdmissionTimes): number {
  const { crashedAt = 0, readySince = 0 } = gateway;
  const startedAt = Date.parse(rollout.startedAt);
  const times = wasVerified(entry, gateway, rollout) ? [restartOf(gateway, rollout) ?? 0, readySince] : [crashedAt];
  const last = Math.max(...times);
  return last >= startedAt ? last : Number.NEGATIVE_INFINITY;
}

/** Notes when the readiness of a gateway first changed after its admission, unless the cause can be a restart. */
function withReadiness(entry: Progress[number], gateway: RolloutGateway, rollout: AdmissionTimes): Progress[number] {
  const changedAt = gateway.notReadySince ?? gateway.readySince ?? 0;
  const isFirst = entry.readinessChangedAt === undefined && changedAt > timeOf(entry.since);
  const isMoved = isFirst && !wasVerified(entry, gateway, rollout) && restartOf(gateway, rollout) === undefined;
  return isMoved ? { ...entry, readinessChangedAt: iso(changedAt) } : entry;
}

export const noteTimes = ({ rollout, history }: RolloutState, context: Context): RolloutState => ({
  history,
  rollout: withTimes(rollout, context),
});

/** Returns the reason of a failure in one line; empty if unknown. */
function reasonOf(name: string, { standing: { failing }, input: { gateways, deadlineMs } }: Context): string {
  const { problem } = gateways.find((gateway) => gateway.name === name) ?? {};
  const isLate = !failing.includes(name);
  const parts = [isLate && `not healthy within ${formatDuration(deadlineMs)}`, problem].filter(Boolean);
  return parts
    .join(': ')
    .replace(/\p{Cc}+/gu, ' ')
    .slice(0, BOUNDS.text)
    .toWellFormed();
}

/** Adds failures, in the order in which they happened. */
function withFailures(rollout: RolloutStatus, more: readonly string[]): RolloutStatus {
  return { ...rollout, failures: unlessEmpty([...new Set([...(rollout.failures ?? []), ...more])]) };
}
