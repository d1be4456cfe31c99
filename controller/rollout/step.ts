import type { RolloutPhase, RolloutStatus } from '../../shared/api/rollout.ts';
import { isSame, type Release, releaseOf, stableOf } from '../../shared/domain/releases.ts';
import { ALL, isWithin, NOBODY } from '../../shared/domain/waves.ts';
import { admitMore, amountOf, makeAdmission } from './admission.ts';
import { awaitedIn, failuresOf, withFailures } from './failures.ts';
import { obey } from './orders.ts';
import type { RolloutGateway, RolloutInput, RolloutState, Wait } from './rollout-input.ts';
import { currentWave, isBack, isLater, isSkipped, type Standing, standingOf } from './standing.ts';
import { begin, givenUpWith, iso, makeFirst, noteComplete, returnToStable, rollBack } from './transitions.ts';
import { describe } from './words.ts';

/** What comes next, and after how many milliseconds something may change by the clock alone. */
export interface Step extends RolloutState {
  wakeInMs: number | undefined;
}

/**
 * The next state of a rollout; pure. Undefined where there is nothing to roll out yet. What it admits is what the
 * gateways may have as soon as it is written, and not before.
 */
export function step(before: RolloutState | undefined, input: RolloutInput): Step | undefined {
  const first = before ?? makeFirst(input);
  if (!first) return undefined;
  const state = obey(withoutFuture(first, input.now), input);
  const { state: next, wait } = advance(replan(takeUp(state, input), input), input);
  return { ...describe(next, wait, input), wakeInMs: wakeIn(next, input) };
}

interface Advanced {
  state: RolloutState;
  wait: Wait;
}

/** A clock that was set back must not make anybody wait for longer than was asked for. */
function withoutFuture({ rollout, history }: RolloutState, now: number): RolloutState {
  const present = (time: string | undefined) => (time !== undefined && Date.parse(time) > now ? iso(now) : time);
  const { startedAt, waveStartedAt, admittedAt, soakStartedAt } = rollout;
  const times = {
    startedAt: present(startedAt),
    waveStartedAt: present(waveStartedAt),
    admittedAt: present(admittedAt),
    soakStartedAt: present(soakStartedAt),
  };
  return { history, rollout: clean({ ...rollout, ...times }) };
}

/** Begins with a release that is newer, or with new waves, as soon as the first wave may begin. */
function takeUp(state: RolloutState, input: RolloutInput): RolloutState {
  const { rollout } = state;
  const { wanted, plan } = input;
  const isNewer = wanted !== undefined && !isSame(wanted, releaseOf(rollout));
  const isReplanned = rollout.plan !== plan && isUnderWay(rollout);
  if (!wanted || !(isNewer || isReplanned)) return withNext(state, undefined);
  // What everybody has, or goes back to, needs nobody's leave.
  if (isSame(wanted, stableOf(rollout))) return returnToStable(state, input);
  if (isNewer && rollout.givenUp?.includes(`${wanted.commit} ${wanted.revision}`)) return withNext(state, wanted);
  if (outdatedPods(input).length > 0 || gateOf(0, wanted, input)) return withNext(state, wanted);
  return begin(state, wanted, input);
}

function withNext({ rollout, history }: RolloutState, next: Release | undefined): RolloutState {
  const { nextCommit: _, ...rest } = rollout;
  return { history, rollout: next ? { ...rest, nextCommit: next.commit } : rest };
}

/** By other waves nobody can say who was let in: nobody is any more, and all know what they are to have. */
function replan(state: RolloutState, { spec, plan, gateways }: RolloutInput): RolloutState {
  const { rollout } = state;
  if (rollout.plan === plan) return state;
  const admission = makeAdmission(spec, gateways, rollout.phase === 'Complete' ? ALL : NOBODY);
  return { ...state, rollout: { ...rollout, plan, admission } };
}

/** Phases in which waves are on their way. */
const UNDER_WAY: readonly RolloutPhase[] = ['Progressing', 'Soaking', 'AwaitingApproval', 'AwaitingWindow'];
const isUnderWay = ({ phase }: RolloutStatus): boolean => UNDER_WAY.includes(phase);

const outdatedPods = ({ gateways }: RolloutInput): string[] =>
  gateways.flatMap(({ isOutdated, name }) => (isOutdated ? name : []));

/** What keeps a wave from beginning. */
function gateOf(wave: number, { commit }: Release, { spec, approved, window }: RolloutInput): Wait | undefined {
  if (!window.isOpen) return { kind: 'window' };
  const needsApproval = spec.waves?.[wave]?.approval === true;
  return needsApproval && approved !== commit ? { kind: 'approval' } : undefined;
}

/** Goes on for as far as the state of the gateways allows. */
function advance(state: RolloutState, input: RolloutInput): Advanced {
  const { rollout } = state;
  if (rollout.phase === 'RollingBack') return { state: goBack(state, input), wait: { kind: 'gateways' } };
  const outdated = outdatedPods(input);
  if (rollout.nextCommit !== undefined) {
    // What is superseded goes no further.
    const wait: Wait =
      outdated.length > 0 ? { kind: 'outdated', pods: outdated } : (nextGate(state, input) ?? GIVEN_UP);
    return { state: withoutDeadline(state), wait };
  }
  if (!isUnderWay(rollout)) return { state, wait: NONE };
  if (outdated.length > 0)
    return { state: inPhase(withoutDeadline(state), 'Progressing'), wait: { kind: 'outdated', pods: outdated } };
  const standing = standingOf(rollout, input.gateways);
  const timed = timedAgain(rollout, standing, input.now);
  const failures = failuresOf(timed, standing, input);
  if (failures.length > (input.spec.maxFailures ?? 0)) return fail(state, failures, input);
  return pursue({ ...state, rollout: withFailures(timed, failures) }, standing, input);
}

/** Nobody is on the way: when somebody is again, the deadline counts from then. */
function withoutDeadline({ rollout: { admittedAt: _, ...rollout }, history }: RolloutState): RolloutState {
  return { rollout, history };
}

/** After a time in which nobody was on the way, since all waited or had been told to rest, the deadline counts from now. */
function timedAgain(rollout: RolloutStatus, { admitted }: Standing, now: number): RolloutStatus {
  const hasRested = admitted.some(({ report }) => report?.state === 'resting');
  const isUntimed = rollout.waveStartedAt !== undefined && rollout.admittedAt === undefined && admitted.length > 0;
  return hasRested || isUntimed ? { ...rollout, admittedAt: iso(now) } : rollout;
}

const NONE: Wait = { kind: 'none' };
const GIVEN_UP: Wait = { kind: 'givenUp' };

const nextGate = ({ rollout }: RolloutState, input: RolloutInput): Wait | undefined =>
  input.wanted && rollout.nextCommit !== undefined ? gateOf(0, input.wanted, input) : undefined;

function goBack(state: RolloutState, { gateways, deadlineMs, now }: RolloutInput): RolloutState {
  const { rollout } = state;
  const isOver = now - Date.parse(rollout.startedAt) >= deadlineMs;
  const waitsFor = gateways.filter(
    (gateway) => !gateway.isResting && !isSkipped(gateway, rollout.startedAt) && !isBack(gateway, rollout),
  );
  return waitsFor.length === 0 || isOver ? inPhase(state, 'RolledBack') : state;
}

function fail(state: RolloutState, failures: string[], input: RolloutInput): Advanced {
  const most = (input.spec.maxFailures ?? 0) + 1;
  const givenUp = givenUpWith(state.rollout);
  const failed = { ...state, rollout: { ...withFailures(state.rollout, failures.slice(0, most)), givenUp } };
  if (input.spec.onFailure !== 'Rollback') return { state: inPhase(failed, 'Stopped'), wait: NONE };
  const { rollout } = rollBack(failed, stableOf(state.rollout), input);
  const { failures: noted = [] } = failed.rollout;
  return { state: { ...failed, rollout: withFailures(rollout, noted) }, wait: { kind: 'gateways' } };
}

/** One wave after the other: admits, waits, lets soak. */
function pursue(state: RolloutState, standing: Standing, input: RolloutInput): Advanced {
  const { rollout } = state;
  const index = currentWave(rollout);
  const entry = rollout.admission[index];
  if (!entry) return { state: noteComplete(state, input), wait: NONE };
  if (rollout.waveStartedAt === undefined) {
    const gate = gateOf(index, rollout, input);
    if (gate) return { state: inPhase(state, phaseOf(gate)), wait: gate };
    const waveStartedAt = iso(input.now);
    return pursue({ ...state, rollout: { ...rollout, waveStartedAt } }, standing, input);
  }
  if (entry.admitted !== ALL) {
    const more = input.window.isOpen ? admit(state, index, standing, input) : undefined;
    if (more) return pursue(more, standingOf(more.rollout, input.gateways), input);
  }
  return settle(state, index, standing, input);
}

/** Lets in as many as may be under way; undefined where that is nobody. */
function admit(state: RolloutState, index: number, standing: Standing, input: RolloutInput): RolloutState | undefined {
  const { rollout } = state;
  const { failures = [], startedAt, waveStartedAt } = rollout;
  const members = standing.membersOf(index);
  const { maxConcurrent } = input.spec.waves?.[index] ?? {};
  const most = maxConcurrent === undefined ? Number.POSITIVE_INFINITY : amountOf(maxConcurrent, members.length);
  const entry = rollout.admission[index] as RolloutStatus['admission'][number];
  const isBusy = (gateway: RolloutGateway) => !standing.verified.has(gateway) && !failures.includes(gateway.name);
  // Nobody waits for a pod that came later and does not start, nor for one whose node may be gone.
  const isStuck = (gateway: RolloutGateway) =>
    isSkipped(gateway, startedAt) || (isLater(gateway, waveStartedAt) && gateway.notReadySince !== undefined);
  const inside = members.filter(({ key }) => isWithin(key, entry.admitted));
  const underWay = inside.filter((gateway) => isBusy(gateway) && !isStuck(gateway)).length;
  const admitted = admitMore(members, entry.admitted, Math.max(0, most - underWay));
  if (admitted === entry.admitted) return undefined;
  const admission = rollout.admission.map((each, at) => (at === index ? { ...each, admitted } : each));
  return { ...state, rollout: { ...rollout, admission, admittedAt: iso(input.now) } };
}

/** All of the wave is in: it is done when everybody is settled, and has been for as long as it is to soak. */
function settle(state: RolloutState, index: number, standing: Standing, input: RolloutInput): Advanced {
  const { rollout } = state;
  const { failures = [], soakStartedAt } = rollout;
  const members = standing.membersOf(index);
  const open = awaitedIn(rollout, index, standing).filter(
    (gateway) => !standing.verified.has(gateway) && !failures.includes(gateway.name),
  );
  const isShown =
    members.length === 0 || members.some((each) => standing.verified.has(each) || failures.includes(each.name));
  if (rollout.admission[index]?.admitted !== ALL || open.length > 0 || !isShown) {
    const { soakStartedAt: _, ...rest } = rollout;
    const isShut = open.length === 0 && !input.window.isOpen;
    const admittedAt = soakStartedAt === undefined ? rollout.admittedAt : iso(input.now);
    const next = { ...state, rollout: clean({ ...rest, admittedAt }) };
    return isShut
      ? { state: inPhase(next, 'AwaitingWindow'), wait: { kind: 'window' } }
      : { state: inPhase(next, 'Progressing'), wait: { kind: 'gateways' } };
  }
  const since = soakStartedAt ?? iso(input.now);
  if (input.now - Date.parse(since) < (input.soakMs[index] ?? 0)) {
    const soaking = { ...state, rollout: { ...rollout, soakStartedAt: since } };
    return { state: inPhase(soaking, 'Soaking'), wait: { kind: 'soak' } };
  }
  const { waveStartedAt: _, soakStartedAt: __, admittedAt: ___, wave: ____, ...rest } = rollout;
  const wave = rollout.admission[index + 1]?.wave;
  const next = { ...state, rollout: wave === undefined ? rest : { ...rest, wave } };
  return pursue(next, standing, input);
}

function phaseOf({ kind }: Wait): RolloutPhase {
  return kind === 'window' ? 'AwaitingWindow' : 'AwaitingApproval';
}

const inPhase = (state: RolloutState, phase: RolloutPhase): RolloutState => ({
  ...state,
  rollout: { ...state.rollout, phase },
});

/** Milliseconds until the clock alone may change something. */
function wakeIn(
  { rollout }: RolloutState,
  { now, deadlineMs, soakMs, window, wanted }: RolloutInput,
): number | undefined {
  const { phase, admittedAt, soakStartedAt, startedAt } = rollout;
  const index = currentWave(rollout);
  const due: (number | undefined)[] = [];
  const isOpen = UNDER_WAY.includes(phase) || rollout.nextCommit !== undefined;
  if (wanted && isOpen && window.changesAt !== undefined) due.push(window.changesAt);
  if (UNDER_WAY.includes(phase) && admittedAt) due.push(Date.parse(admittedAt) + deadlineMs);
  if (phase === 'Soaking' && soakStartedAt) due.push(Date.parse(soakStartedAt) + (soakMs[index] ?? 0));
  if (phase === 'RollingBack') due.push(Date.parse(startedAt) + deadlineMs);
  const times = due.filter((time) => time !== undefined);
  const later = times.filter((time) => time > now);
  return later.length > 0 ? Math.min(...later) - now : undefined;
}

/** Leaves out what is undefined. */
function clean(rollout: { [Key in keyof RolloutStatus]: RolloutStatus[Key] | undefined }): RolloutStatus {
  return Object.fromEntries(Object.entries(rollout).filter(([, value]) => value !== undefined)) as RolloutStatus;
}
