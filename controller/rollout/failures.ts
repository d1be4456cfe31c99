import type { RolloutStatus } from '../../shared/api/rollout.ts';
import { ALL, isWithin, NOBODY } from '../../shared/domain/waves.ts';
import type { RolloutGateway, RolloutInput } from './rollout-input.ts';
import { isLater, isSkipped, type Standing, waveUnderWay } from './standing.ts';
import { iso } from './transitions.ts';

/** Notes who has failed, who failed once has failed, and since when the deadline counts. */
export function noteFailures(rollout: RolloutStatus, standing: Standing, input: RolloutInput): RolloutStatus {
  const { failures = [] } = rollout;
  const said = withFailures(rollout, [...failures, ...standing.failing]);
  const timed = timedAgain(said, standing, input);
  const late = lateOnes(timed, standing, input).filter(({ due }) => due <= input.now);
  return withFailures(timed, [...(timed.failures ?? []), ...late.map(({ name }) => name)]);
}

/** When the next gateway has failed unless something happens before; in milliseconds since the epoch. */
export function nextFailure(rollout: RolloutStatus, standing: Standing, input: RolloutInput): number | undefined {
  const due = lateOnes(rollout, standing, input).map((each) => each.due);
  return due.length > 0 ? Math.min(...due) : undefined;
}

/**
 * Who is under way, and when that has taken too long: not by what came to an earlier wave since, which may have trouble
 * of any kind. What came after the admission has its own time; but where not even half of the wave is well, the wave has
 * no more than twice as long.
 */
function lateOnes(rollout: RolloutStatus, standing: Standing, { deadlineMs }: RolloutInput) {
  const { admittedAt, soakStartedAt, admission } = rollout;
  const index = waveUnderWay(rollout);
  // While a wave soaks all are well, and the deadline does not count.
  if (admittedAt === undefined || soakStartedAt !== undefined || index === undefined) return [];
  const since = Date.parse(admittedAt);
  const well = standing.membersOf(index).filter((gateway) => standing.verified.has(gateway)).length;
  const longest = 2 * well >= (admission[index]?.gateways ?? 1) ? Number.POSITIVE_INFINITY : since + deadlineMs;
  return openIn(rollout, index, standing)
    .filter(({ key }) => isWithin(key, admission[index]?.admitted ?? NOBODY))
    .map(({ name, createdAt }) => ({ name, due: Math.min(Math.max(since, createdAt), longest) + deadlineMs }));
}

/** Moves the time from which the deadline counts, after one in which it did not. */
function timedAgain(rollout: RolloutStatus, standing: Standing, { isEdited, now }: RolloutInput): RolloutStatus {
  const { soakStartedAt, waveStartedAt } = rollout;
  const index = waveUnderWay(rollout);
  if (index === undefined || waveStartedAt === undefined) return rollout;
  if (!hasLetIn(rollout, index, standing)) return withoutTimes(rollout);
  if (soakStartedAt !== undefined && isSettled(rollout, index, standing)) return rollout;
  const timed = withoutSoak(rollout, now);
  return isEdited || timed.admittedAt === undefined ? { ...timed, admittedAt: iso(now) } : timed;
}

/** Whether a gateway of a wave that counts has been let in. */
export function hasLetIn({ admission }: RolloutStatus, index: number, standing: Standing): boolean {
  const admitted = admission[index]?.admitted ?? NOBODY;
  return standing.membersOf(index).some(({ key }) => isWithin(key, admitted));
}

/** Nobody is on the way: the deadline counts from when somebody is again. */
export function withoutTimes({ admittedAt: _, soakStartedAt: __, ...rollout }: RolloutStatus): RolloutStatus {
  return rollout;
}

/** The time in which all were well does not count for the deadline: only that in which they were not adds up. */
function withoutSoak({ soakStartedAt, ...rollout }: RolloutStatus, now: number): RolloutStatus {
  const { admittedAt } = rollout;
  if (soakStartedAt === undefined || admittedAt === undefined) return rollout;
  return { ...rollout, admittedAt: iso(Math.min(now, Date.parse(admittedAt) + now - Date.parse(soakStartedAt))) };
}

/** Whether nothing is to be waited for in a wave: all is well in it, or there is nobody who could show it. */
export function isDone(rollout: RolloutStatus, index: number, standing: Standing): boolean {
  return standing.membersOf(index).length > 0
    ? isSettled(rollout, index, standing)
    : isDoneWithNobody(rollout, index, standing);
}

/**
 * Nobody shows whether all is well. A wave that never had a gateway is done, unless there is none at all and there were
 * some; the last one that had is, when those before it have shown it. Any other waits for somebody: what comes after it
 * must not get what nobody has tried.
 */
function isDoneWithNobody({ admission }: RolloutStatus, index: number, { counted, verified }: Standing): boolean {
  const hadSome = admission.some(({ gateways }) => gateways !== undefined);
  if (admission[index]?.gateways === undefined) return counted.length > 0 || !hadSome;
  return admission.slice(index + 1).every(({ gateways }) => gateways === undefined) && verified.size > 0;
}

/** Whether all of a wave is in, and everybody who counts is verified or has failed, at least one of them verified. */
function isSettled(rollout: RolloutStatus, index: number, standing: Standing): boolean {
  const isShown = standing.membersOf(index).some((gateway) => standing.verified.has(gateway));
  return isShown && rollout.admission[index]?.admitted === ALL && openIn(rollout, index, standing).length === 0;
}

/** Whom a wave still waits for. */
export function openIn(rollout: RolloutStatus, index: number, standing: Standing): RolloutGateway[] {
  const { failures = [] } = rollout;
  return awaitedIn(rollout, index, standing).filter(
    (gateway) => !standing.verified.has(gateway) && !failures.includes(gateway.name),
  );
}

/**
 * Who counts for a wave: not those that were not ready before the rollout, nor those that came after the wave began, or
 * since the rollout did and have never started. But these do in place of those that are gone, and as long as nobody has
 * shown that all is well. In a wave that was well, what takes another one's place has time to start.
 */
export function awaitedIn(rollout: RolloutStatus, index: number, standing: Standing): RolloutGateway[] {
  const { startedAt, waveStartedAt, soakStartedAt, admission, failures = [] } = rollout;
  const members = standing.membersOf(index).filter((gateway) => !isSkipped(gateway, startedAt));
  if (!members.some((gateway) => standing.verified.has(gateway))) return members;
  const isEarlier = index < (waveUnderWay(rollout) ?? 0);
  const begunAt = isEarlier ? startedAt : waveStartedAt;
  const hasStarted = ({ report, notReadySince }: RolloutGateway) => report !== undefined || notReadySince === undefined;
  const isNew = (gateway: RolloutGateway) =>
    isLater(gateway, begunAt) || (!hasStarted(gateway) && isLater(gateway, startedAt));
  const old = members.filter((gateway) => !isNew(gateway));
  const gone = Math.max(0, (admission[index]?.gateways ?? 0) - old.length);
  // Those that are settled first.
  const rankOf = (gateway: RolloutGateway) =>
    standing.verified.has(gateway) ? 0 : failures.includes(gateway.name) ? 1 : 2;
  const inPlace = members
    .filter(isNew)
    .sort((a, b) => rankOf(a) - rankOf(b) || (a.key < b.key ? -1 : 1))
    .slice(0, gone);
  const wasWell = isEarlier || soakStartedAt !== undefined;
  return [...old, ...inPlace.filter((gateway) => !wasWell || rankOf(gateway) < 2 || !standing.isYoung(gateway))];
}

export function withFailures({ failures: _, ...rest }: RolloutStatus, failures: string[]): RolloutStatus {
  return failures.length > 0 ? { ...rest, failures: [...new Set(failures)].sort() } : rest;
}
