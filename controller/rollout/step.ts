import type { RolloutStatus } from '../../shared/api/rollout.ts';
import { earliest } from '../../shared/domain/duration.ts';
import { withoutUndefined } from '../../shared/domain/objects.ts';
import { isInProgress, releaseOf } from '../../shared/domain/releases.ts';
import { ALL, NO_GATEWAY } from '../../shared/domain/waves.ts';
import { currentWave, makeAdmission, noteGateways } from './admission.ts';
import { approvalDue, withApproval } from './approval.ts';
import { shownReleases } from './approved-release.ts';
import { previewFailureOf } from './failure-messages.ts';
import { duesOf, lateAt, noteFailures, noteTimes } from './failures.ts';
import { continueRollback, giveUp, inPhase, stopBefore } from './give-up.ts';
import { begin, iso, makeFirst, unlessEmpty } from './lifecycle.ts';
import { describe } from './messages.ts';
import { candidateOf, startNewest } from './newest.ts';
import { applyOrders } from './orders.ts';
import { placesOf } from './places.ts';
import { failuresIn, isPreviewed, previewDues, withPreview } from './preview.ts';
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
  const state = replan(applyOrders(withoutFuture(first, input), now), now);
  const taken = takeNewest(state, now);
  const on = advance(taken, now);
  // A rollout or rollback that ended now may have blocked a newer release.
  const { rollout } = on.state;
  const hasEnded = rollout.phase !== taken.state.rollout.phase && !isInProgress(rollout);
  const { state: next, wait } = hasEnded ? advance(takeNewest(on.state, now), now) : on;
  const context = { standing: standingOf(next.rollout, now), input: now };
  const noted = isInProgress(next.rollout) ? noteTimes(next, context) : next;
  const shown = unlessEmpty(shownReleases(first.rollout, noted.rollout, now.spec));
  const described = describe({ ...noted, rollout: { ...noted.rollout, shownReleases: shown } }, wait, context);
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

const TIMES = ['startedAt', 'waveStartedAt', 'admittedAt', 'soakStartedAt', 'waitsSince'] as const;

/** Replaces times that are ahead because the clock was set back, so that no deadline takes longer than it should. */
function withoutFuture({ rollout, history }: RolloutState, { now, previewIntervalMs }: RolloutInput): RolloutState {
  const before = (time: string, end: number) => (Date.parse(time) > end ? iso(end) : time);
  const corrected = { ...rollout };
  for (const name of TIMES) if (rollout[name] !== undefined) corrected[name] = before(rollout[name], now);
  const { preview, nextPreviewAt, inProgress } = rollout;
  if (inProgress)
    corrected.inProgress = inProgress.map(({ name, since, readinessChangedAt }) =>
      withoutUndefined({
        name,
        since: before(since, now),
        readinessChangedAt: readinessChangedAt && before(readinessChangedAt, now),
      }),
    );
  if (preview) corrected.preview = { ...preview, startedAt: before(preview.startedAt, now) };
  if (nextPreviewAt) corrected.nextPreviewAt = before(nextPreviewAt, now + previewIntervalMs);
  return { history, rollout: corrected };
}

/**
 * Handles edited waves. No gateway is admitted any longer, because the earlier admissions don't fit, and a rollout in
 * progress begins again at the first wave.
 */
function replan(state: RolloutState, input: RolloutInput): RolloutState {
  const { rollout } = state;
  const { spec, wavesHash, gateways } = input;
  if (rollout.plan === wavesHash) {
    const admission = noteGateways(rollout.admission, gateways, currentWave(rollout));
    return { ...state, rollout: { ...rollout, admission } };
  }
  if (isInProgress(rollout)) return begin(state, releaseOf(rollout), input);
  const admitted = rollout.phase === 'Complete' ? ALL : NO_GATEWAY;
  const admission = makeAdmission(spec, gateways, { admitted, before: rollout.admission });
  return { ...state, rollout: { ...rollout, wave: undefined, plan: wavesHash, admission } };
}

/** Previews the release that is next, and starts it if it can begin. */
function takeNewest(state: RolloutState, input: RolloutInput): Advanced {
  const candidate = candidateOf(state.rollout, input);
  const taken = startNewest(withApproval(withPreview(state, candidate, input), candidate, input), input);
  const hasBegun = taken.state.rollout.number !== state.rollout.number;
  // A preview counts only if it was made from one of the two releases, which are others now.
  return hasBegun ? { ...taken, state: withPreview(taken.state, candidate, input) } : taken;
}

/** Advances as far as the state of the gateways allows. */
function advance({ state, wait }: Advanced, input: RolloutInput): Advanced {
  const { rollout } = state;
  if (isInProgress(rollout)) return judge(state, wait, input);
  const at = rollout.phase === 'RollingBack' ? continueRollback(state, input) : state;
  return { state: at, wait: waitAtRest(rollout, wait) };
}

/** Between rollouts, only a newer release can wait. */
const waitAtRest = ({ nextCommit }: RolloutStatus, wait: Wait): Wait =>
  nextCommit === undefined ? { kind: 'none' } : wait;

/** Judges admitted gateways, even if no more can be admitted. */
function judge(state: RolloutState, wait: Wait, input: RolloutInput): Advanced {
  const judged = {
    ...state,
    rollout: noteFailures(state.rollout, { standing: standingOf(state.rollout, input), input }),
  };
  if ((judged.rollout.failures ?? []).length > (input.spec.maxFailures ?? 0)) {
    return { state: giveUp(judged, input), wait: waitAtRest(judged.rollout, wait) };
  }
  const hasWaves = judged.rollout.phase !== 'Previewing';
  if (wait.kind === 'outdated') return { state: hasWaves ? inPhase(judged, 'Progressing') : judged, wait };
  // A superseded release admits no more gateways, but its failures still count.
  if (judged.rollout.nextCommit !== undefined) return { state: judged, wait };
  if (!hasWaves && !isPreviewed(judged.rollout, judged.rollout, input))
    return { state: judged, wait: { kind: 'preview' } };
  return judged.rollout.admittedAt === undefined ? beginWaves(judged, input) : pursue(judged, input);
}

/** Begins with the waves unless the release can't be delivered to some gateways, which may report that late. */
function beginWaves(state: RolloutState, input: RolloutInput): Advanced {
  const failures = failuresIn(state.rollout, input);
  if (failures.length === 0) return pursue(state, input);
  return { state: stopBefore(state, previewFailureOf(failures)), wait: { kind: 'none' } };
}

/** Time until the clock alone can change something (ms). */
function wakeIn(rollout: RolloutStatus, context: Context): number | undefined {
  const { now, deadlineMs, window, wanted } = context.input;
  const { phase, startedAt, nextCommit } = rollout;
  const due: (number | undefined)[] = [];
  if (isInProgress(rollout) || (wanted && nextCommit !== undefined)) due.push(window.changesAt);
  if (candidateOf(rollout, context.input)) due.push(...previewDues(rollout, context.input));
  due.push(approvalDue(rollout, context.input));
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
