import type { RolloutPhase } from '../../shared/api/rollout.ts';
import { isInProgress } from '../../shared/domain/releases.ts';
import { currentWave, noteGateways } from './admission.ts';
import { withApproval } from './approval.ts';
import { withTimes } from './deadlines.ts';
import { explain } from './explain.ts';
import { type Facts, factsOf } from './facts.ts';
import { cannotBeDelivered, tooManyFailed } from './give-up.ts';
import { candidateOf, judgeNewest } from './newest-release.ts';
import { approvalOrdered, retryOrdered, rollbackOrdered, wavesWereEdited } from './orders.ts';
import { withPastTimes } from './past-times.ts';
import { waitForPreviews } from './phases/previewing.ts';
import { waitForReturns } from './phases/rolling-back.ts';
import { stay } from './phases/stay.ts';
import { releaseAndVerify, waitForGate, waitForSoak } from './phases/waves.ts';
import { isPreviewed, withPreview } from './preview.ts';
import type { Move, Next, RolloutInput, RolloutState } from './rollout-input.ts';
import { change, makeFirst } from './transitions.ts';

/** Orders of users, which come first. */
const ORDERS: ((state: RolloutState, input: RolloutInput) => Move | undefined)[] = [
  approvalOrdered,
  retryOrdered,
  rollbackOrdered,
  wavesWereEdited,
];

/** What can happen in every phase, in this order. */
const INTERRUPTS: ((facts: Facts) => Next | undefined)[] = [
  cannotBeDelivered,
  tooManyFailed,
  newerReleaseCanBegin,
  newerReleaseWaits,
];

/** What each phase does, and the phases to which that can lead. */
export const PHASES: Record<RolloutPhase, Phase> = {
  Complete: phase(stay),
  Previewing: phase(waitForPreviews, 'Progressing'),
  AwaitingApproval: phase(waitForGate, 'AwaitingApproval', 'AwaitingWindow', 'Progressing'),
  AwaitingWindow: phase(waitForGate, 'AwaitingApproval', 'AwaitingWindow', 'Progressing'),
  Progressing: phase(releaseAndVerify, 'AwaitingApproval', 'AwaitingWindow', 'Progressing', 'Soaking', 'Complete'),
  Soaking: phase(waitForSoak, 'Progressing'),
  Stopped: phase(stay),
  RollingBack: phase(waitForReturns, 'RolledBack'),
  RolledBack: phase(stay),
};

interface Phase {
  next: (facts: Facts) => Next;
  to: readonly RolloutPhase[];
}

function phase<To extends RolloutPhase>(next: (facts: Facts) => Next<NoInfer<To>>, ...to: To[]): Phase {
  return { next, to };
}

/** A rollout moves a few times for each of its waves and gateways. */
const MAX_MOVES = 1_000_000;

/**
 * Computes the next state of a rollout; pure. Undefined if there is nothing to roll out yet. The machine moves until it
 * has to wait. No gateway gets a release before the result is written.
 */
export function step(before: RolloutState | undefined, received: RolloutInput): RolloutState | undefined {
  const first = before ?? firstState(received);
  if (!first) return undefined;
  const { state: start, input } = withPastTimes(first, received);
  let state = start;
  for (let moves = 0; moves < MAX_MOVES; moves += 1) {
    const ordered = firstOf(ORDERS, (order) => order(state, input));
    if (ordered) {
      state = enter(ordered);
      continue;
    }
    const facts = observe(state, input);
    const next = firstOf(INTERRUPTS, (interrupt) => interrupt(facts)) ?? PHASES[facts.rollout.phase].next(facts);
    if ('wait' in next) return explain(facts, next.wait, first.rollout);
    state = enter(next);
  }
  throw new Error('a rollout moved without an end');
}

const enter = ({ to, state: { rollout, history } }: Move): RolloutState => ({
  history,
  rollout: { ...rollout, phase: to },
});

function firstState(input: RolloutInput): RolloutState | undefined {
  const state = makeFirst(input);
  return state && enter({ to: 'Complete', state });
}

/** Notes what the gateways report, and judges them. */
function observe(state: RolloutState, input: RolloutInput): Facts {
  const { admission } = state.rollout;
  const present = change(state, {
    admission: noteGateways(admission, input.gateways, currentWave(state.rollout)),
  });
  const candidate = candidateOf(present.rollout, input);
  const newest = judgeNewest(withApproval(withPreview(present, candidate, input), candidate, input), input);
  const facts = { ...factsOf(newest.state, input), start: newest.start, newestWait: newest.wait };
  return isInProgress(facts.rollout) ? withTimes(facts) : facts;
}

/** Starts the newest release, if it is another one. */
function newerReleaseCanBegin({ start }: Facts): Move | undefined {
  return start;
}

/** While another release waits, a rollout in progress gives its own to no more gateways. Its preview can still end. */
function newerReleaseWaits({ rollout, input, newestWait }: Facts): Next | undefined {
  const canMove = rollout.phase === 'Previewing' && isPreviewed(rollout, rollout, input);
  return newestWait && isInProgress(rollout) && !canMove ? { wait: newestWait } : undefined;
}

function firstOf<T, R>(list: readonly T[], call: (each: T) => R | undefined): R | undefined {
  for (const each of list) {
    const result = call(each);
    if (result !== undefined) return result;
  }
  return undefined;
}
