import type { RolloutStatus } from '../../shared/api/rollout.ts';
import { earliest } from '../../shared/domain/duration.ts';
import { isInProgress, releaseOf } from '../../shared/domain/releases.ts';
import { ALL, NO_GATEWAY } from '../../shared/domain/waves.ts';
import { currentWave, makeAdmission, noteGateways } from './admission.ts';
import { withApproval } from './approval.ts';
import { previewFailureOf } from './failure-messages.ts';
import { duesOf, lateAt, noteFailures, noteTimes } from './failures.ts';
import { continueRollback, giveUp, inPhase, stopBefore } from './give-up.ts';
import { begin, iso, makeFirst } from './lifecycle.ts';
import { describe } from './messages.ts';
import { candidateOf, startNewest, waitOf } from './newest.ts';
import { applyOrders } from './orders.ts';
import { placesOf } from './places.ts';
import { failuresIn, judgePreview, withPreview } from './preview.ts';
import { pursue } from './pursue.ts';
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
  const taken = takeNewest(state, now);
  const on = advance(taken, now);
  // A rollout that ended now may have blocked a newer release.
  const hasEnded = isInProgress(taken.rollout) && !isInProgress(on.state.rollout);
  const { state: next, wait } = hasEnded ? advance(takeNewest(on.state, now), now) : on;
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

const TIMES = [
  'startedAt',
  'waveStartedAt',
  'admittedAt',
  'underWaySince',
  'soakStartedAt',
  'waitsSince',
  'previewedAt',
] as const;

/** Replaces times that are ahead because the clock was set back, so that no deadline takes longer than it should. */
function withoutFuture({ rollout, history }: RolloutState, now: number): RolloutState {
  const ahead = TIMES.filter((name) => Date.parse(rollout[name] ?? '') > now);
  const corrected = { ...rollout, ...Object.fromEntries(ahead.map((name) => [name, iso(now)])) };
  const { preview, previewedAt } = corrected;
  return {
    history,
    rollout: preview && previewedAt ? { ...corrected, preview: { ...preview, startedAt: previewedAt } } : corrected,
  };
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

/** Previews the release that is next, and starts it if it can begin. */
function takeNewest(state: RolloutState, input: RolloutInput): RolloutState {
  const candidate = candidateOf(state.rollout, input);
  return startNewest(withApproval(withPreview(state, candidate, input), candidate, input), input);
}

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
  const isPreviewed = judged.rollout.phase !== 'Previewing';
  if (wait.kind === 'outdated') return { state: isPreviewed ? inPhase(judged, 'Progressing') : judged, wait };
  // A superseded release admits no more gateways, but its failures still count.
  if (nextCommit !== undefined) return { state: judged, wait };
  return isPreviewed ? pursue(judged, input) : endPreview(judged, input);
}

/** Begins with the waves after all gateways have previewed the release, unless it can't be delivered to some. */
function endPreview(state: RolloutState, input: RolloutInput): Advanced {
  const { rollout } = state;
  const preview = judgePreview(releaseOf(rollout), rollout, input);
  if (!preview.isOver) return { state, wait: { kind: 'preview' } };
  const failures = failuresIn(preview, input);
  return failures.length > 0 ? stopBefore(state, previewFailureOf(failures)) : pursue(state, input);
}

/** Time until the clock alone can change something (ms). */
function wakeIn(rollout: RolloutStatus, context: Context): number | undefined {
  const { now, deadlineMs, window, wanted } = context.input;
  const { phase, startedAt, nextCommit } = rollout;
  const due: (number | undefined)[] = [];
  if (isInProgress(rollout) || (wanted && nextCommit !== undefined)) due.push(window.changesAt);
  if (isInProgress(rollout)) due.push(...timesOf(rollout, context));
  const candidate = candidateOf(rollout, context.input);
  if (candidate) due.push(judgePreview(candidate, rollout, context.input).changesAt);
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
