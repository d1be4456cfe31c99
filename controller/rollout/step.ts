import type { RolloutPhase, RolloutStatus } from '../../shared/api/rollout.ts';
import { earliest } from '../../shared/domain/duration.ts';
import { isSame, type Release, releaseOf, stableOf } from '../../shared/domain/releases.ts';
import { ALL, NO_GATEWAY } from '../../shared/domain/waves.ts';
import { currentWave, makeAdmission, noteGateways } from './admission.ts';
import { duesOf, lateAt, noteFailures, noteTimes } from './failures.ts';
import { continueRollback, giveUp, inPhase } from './give-up.ts';
import { begin, givenUpName, givenUpWith, iso, makeFirst, returnToStable } from './lifecycle.ts';
import { describe } from './messages.ts';
import { applyOrders } from './orders.ts';
import { placesOf } from './places.ts';
import { pursue, waitBefore } from './pursue.ts';
import type { Advanced, RolloutInput, RolloutState, Wait } from './rollout-input.ts';
import { type Context, standingOf } from './standing.ts';

/** The next state, and when the clock alone can change it (ms). */
export interface Step extends RolloutState {
  wakeInMs: number | undefined;
}

/**
 * Computes the next state of a rollout; pure. Undefined if there is nothing to roll out yet. Gateways are admitted only
 * after the result is written. With the same input, the state doesn't change until the time to wake.
 */
export function step(before: RolloutState | undefined, input: RolloutInput): Step | undefined {
  const first = before ?? makeFirst(input);
  if (!first) return undefined;
  const now = withoutLater(input, first.rollout);
  const state = replan(applyOrders(withoutFuture(first, input.now), now), now);
  const taken = startNewest(state, now);
  const on = advance(taken, now);
  // A rollout that ended now may have blocked a newer release.
  const hasEnded = isInProgress(taken.rollout) && !isInProgress(on.state.rollout);
  const { state: next, wait } = hasEnded ? advance(startNewest(on.state, now), now) : on;
  const context = { standing: standingOf(next.rollout, now), input: now };
  const described = describe(isInProgress(next.rollout) ? noteTimes(next, context) : next, wait, context);
  return { ...described, wakeInMs: wakeIn(described.rollout, context) };
}

/** The clock of the API server may be ahead: treat its future timestamps as now. */
function withoutLater(input: RolloutInput, { startedAt }: RolloutStatus): RolloutInput {
  const { gateways, now } = input;
  const begunAt = Math.min(now, Date.parse(startedAt));
  const present = (time: number | undefined, instead = now) => (time !== undefined && time > now ? instead : time);
  return {
    ...input,
    gateways: gateways.map((gateway) => ({
      ...gateway,
      createdAt: present(gateway.createdAt, begunAt) ?? 0,
      notReadySince: present(gateway.notReadySince),
      readySince: present(gateway.readySince),
      runsSince: present(gateway.runsSince),
    })),
  };
}

const TIMES = ['startedAt', 'waveStartedAt', 'admittedAt', 'underWaySince', 'soakStartedAt', 'waitsSince'] as const;

/** Replaces times that are ahead because the clock was set back, so that no deadline takes longer than it should. */
function withoutFuture({ rollout, history }: RolloutState, now: number): RolloutState {
  const ahead = TIMES.filter((name) => Date.parse(rollout[name] ?? '') > now);
  return { history, rollout: { ...rollout, ...Object.fromEntries(ahead.map((name) => [name, iso(now)])) } };
}

/**
 * Handles edited waves. No gateway is admitted any longer, because the earlier admissions don't fit, and a rollout in
 * progress begins again at the first wave.
 */
function replan(state: RolloutState, input: RolloutInput): RolloutState {
  const { rollout } = state;
  const { spec, plan, gateways } = input;
  if (rollout.plan === plan) {
    const admission = noteGateways(rollout.admission, gateways, currentWave(rollout));
    return { ...state, rollout: { ...rollout, admission } };
  }
  if (isInProgress(rollout)) return begin(state, releaseOf(rollout), input);
  const admitted = rollout.phase === 'Complete' ? ALL : NO_GATEWAY;
  const admission = makeAdmission(spec, gateways, { admitted, before: rollout.admission });
  return { ...state, rollout: { ...rollout, wave: undefined, plan, admission } };
}

/** Starts a newer release as soon as the first wave can begin. */
function startNewest(state: RolloutState, input: RolloutInput): RolloutState {
  const { rollout } = state;
  const { wanted } = input;
  // A waiting release keeps waiting while the newest one is unknown.
  if (!wanted) return state;
  if (isSame(wanted, releaseOf(rollout))) return withNext(state, undefined);
  // The release that all gateways have, or return to, needs no approval.
  if (isSame(wanted, stableOf(rollout))) return returnToStable(state, input);
  // An abandoned release isn't newer: the current rollout continues.
  if (isGivenUp(rollout, wanted)) return withNext(state, isInProgress(rollout) ? undefined : wanted);
  if (isOnlyMoved(rollout, wanted, input))
    return withNext({ ...state, rollout: { ...rollout, givenUp: givenUpWith(rollout, wanted) } }, wanted);
  const waits = outdatedPods(input).length > 0 || waitBefore(0, wanted, input);
  return waits ? withNext(state, wanted) : begin(state, wanted, input);
}

const isGivenUp = ({ givenUp = [] }: RolloutStatus, release: Release): boolean =>
  givenUp.includes(givenUpName(release));

/**
 * Whether a wanted release is the version that was rolled back, and its tag was moved since then. It is abandoned once,
 * so that it can be retried.
 */
const isOnlyMoved = (rollout: RolloutStatus, { commit, revision }: Release, { isSameVersion }: RolloutInput): boolean =>
  isSameVersion === true &&
  (rollout.phase === 'RollingBack' || rollout.phase === 'RolledBack') &&
  revision === rollout.revision &&
  commit !== rollout.nextCommit;

function withNext({ rollout, history }: RolloutState, next: Release | undefined): RolloutState {
  return { history, rollout: { ...rollout, nextCommit: next?.commit } };
}

/** Phases in which waves are in progress. */
const IN_PROGRESS: readonly RolloutPhase[] = ['Progressing', 'Soaking', 'AwaitingApproval', 'AwaitingWindow'];
const isInProgress = ({ phase }: RolloutStatus): boolean => IN_PROGRESS.includes(phase);

const outdatedPods = ({ gateways }: RolloutInput): string[] =>
  gateways.flatMap(({ isOutdated, name }) => (isOutdated ? name : []));

/** Advances as far as the state of the gateways allows. */
function advance(state: RolloutState, input: RolloutInput): Advanced {
  const { phase, nextCommit } = state.rollout;
  const wait = waitOf(state, input);
  if (phase === 'RollingBack') {
    const back = continueRollback(state, input);
    return nextCommit === undefined ? back : { ...back, wait };
  }
  return isInProgress(state.rollout) ? judge(state, wait, input) : { state, wait };
}

/** Judges admitted gateways, even if no more can be admitted. */
function judge(state: RolloutState, wait: Wait, input: RolloutInput): Advanced {
  const { nextCommit } = state.rollout;
  const judged = {
    ...state,
    rollout: noteFailures(state.rollout, { standing: standingOf(state.rollout, input), input }),
  };
  if ((judged.rollout.failures ?? []).length > (input.spec.maxFailures ?? 0)) {
    const failed = giveUp(judged, input);
    return nextCommit === undefined ? failed : { ...failed, wait };
  }
  if (wait.kind === 'outdated') return { state: inPhase(judged, 'Progressing'), wait };
  // A superseded release admits no more gateways, but its failures still count.
  return nextCommit === undefined ? pursue(judged, input) : { state: judged, wait };
}

/** Returns why a newer release waits or, if there is none, whether outdated pods block the rollout. */
function waitOf({ rollout }: RolloutState, input: RolloutInput): Wait {
  const { wanted } = input;
  const pods = outdatedPods(input);
  const isActive = isInProgress(rollout) || rollout.nextCommit !== undefined;
  if (pods.length > 0 && isActive) return { kind: 'outdated', pods };
  if (!wanted || rollout.nextCommit === undefined) return { kind: 'none' };
  if (isGivenUp(rollout, wanted)) return { kind: 'givenUp' };
  return waitBefore(0, wanted, input) ?? { kind: 'none' };
}

/** Time until the clock alone can change something (ms). */
function wakeIn(rollout: RolloutStatus, context: Context): number | undefined {
  const { now, deadlineMs, window, wanted } = context.input;
  const { phase, startedAt, nextCommit } = rollout;
  const due: (number | undefined)[] = [];
  if (isInProgress(rollout) || (wanted && nextCommit !== undefined)) due.push(window.changesAt);
  if (isInProgress(rollout)) due.push(...timesOf(rollout, context));
  if (phase === 'RollingBack') due.push(Date.parse(startedAt) + deadlineMs);
  const next = earliest(...due.filter((time) => time !== undefined && time > now));
  return next && next - now;
}

/** Times at which a gateway fails or frees its place, a wave has soaked, or the wait for a missing gateway ends. */
function timesOf(rollout: RolloutStatus, context: Context): (number | undefined)[] {
  const { soakStartedAt, startedAt, waitsSince } = rollout;
  const { standing, input } = context;
  const { deadlineMs, soakMs } = input;
  const index = standing.index ?? 0;
  const after = (time: string | undefined, ms: number) => (time === undefined ? undefined : Date.parse(time) + ms);
  return [
    ...duesOf(rollout, context),
    placesOf(rollout, index, context).nextFreeAt,
    after(soakStartedAt, soakMs[index] ?? 0),
    after(startedAt, deadlineMs),
    lateAt(rollout, input),
    after(waitsSince, deadlineMs),
  ];
}
