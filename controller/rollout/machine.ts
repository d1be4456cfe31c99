import type { RolloutPhase, RolloutStatus } from '../../shared/api/rollout.ts';
import { isInProgress } from '../../shared/domain/rollout/releases.ts';
import { currentWave, noteGateways } from './admission.ts';
import { withApprovals, withChanges, withoutOldApprovals } from './approval.ts';
import { timesOf } from './deadlines.ts';
import { type Facts, factsOf, type Next } from './facts.ts';
import { cannotBeDelivered, tooManyFailed } from './give-up.ts';
import type { Move } from './moves.ts';
import { candidateOf, judgeNewest } from './newest-release.ts';
import { noteWait } from './note-wait.ts';
import { retryOrdered, rollbackOrdered, wavesWereEdited } from './orders.ts';
import { waitForGate } from './phases/awaiting.ts';
import { waitForPreviews } from './phases/previewing.ts';
import { releaseAndVerify } from './phases/progressing.ts';
import { waitForReturns } from './phases/rolling-back.ts';
import { waitForSoak } from './phases/soaking.ts';
import { stay } from './phases/stay.ts';
import { isPreviewed, withPreview } from './preview.ts';
import type { RolloutInput } from './rollout-input.ts';
import { makeFirst } from './transitions.ts';
import { withoutFutureTimes } from './without-future-times.ts';

/**
 * What each phase does, and the phases that can follow. Orders and interrupts can lead elsewhere: to `Previewing`,
 * `Complete`, `Stopped`, or `RollingBack`. A phase that follows itself acts again.
 */
export const PHASES: Record<RolloutPhase, Phase> = {
  Complete: phase(stay),
  Previewing: phase(waitForPreviews, 'Progressing'),
  // Neither of these two moves to itself; the type of the function includes both.
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

/** Guards against an endless loop: a step makes a few moves per wave, and there are at most 17 waves. */
const MAX_MOVES = 1_000;

/**
 * Computes the next state of a rollout; pure. Undefined if there is nothing to roll out yet. The machine moves until it
 * has to wait. No gateway gets a release before the result is written.
 */
export function step(before: RolloutStatus | undefined, received: RolloutInput): RolloutStatus | undefined {
  const known = before ?? firstRollout(received);
  if (!known) return undefined;
  const { rollout: start, input } = withoutFutureTimes(known, received);
  let rollout = start;
  for (let moves = 0; moves < MAX_MOVES; moves += 1) {
    const ordered = retryOrdered(rollout, input) ?? rollbackOrdered(rollout, input) ?? wavesWereEdited(rollout, input);
    if (ordered) {
      rollout = enter(ordered, rollout);
      continue;
    }
    const facts = observe(rollout, input);
    const next =
      cannotBeDelivered(facts) ??
      tooManyFailed(facts) ??
      facts.start ??
      newestWaits(facts) ??
      PHASES[facts.rollout.phase].next(facts);
    if ('wait' in next) return noteWait(facts, next.wait);
    rollout = enter(next, facts.rollout);
  }
  throw new Error('a rollout moved without an end');
}

const enter = ({ to, rollout }: Move, before: RolloutStatus): RolloutStatus => ({ ...(rollout ?? before), phase: to });

function firstRollout(input: RolloutInput): RolloutStatus | undefined {
  const first = makeFirst(input);
  return first?.rollout && { ...first.rollout, phase: first.to };
}

/**
 * Notes what the gateways report, and derives everything by which the phases decide: the preview, then the approval,
 * then the newest release, each of which needs the previous one.
 */
function observe(rollout: RolloutStatus, input: RolloutInput): Facts {
  const noted = { ...rollout, admission: noteGateways(rollout.admission, input.gateways, currentWave(rollout)) };
  const candidate = candidateOf(noted, input);
  const previewed = withChanges(withPreview(noted, candidate, input), input);
  const newest = judgeNewest(withApprovals(previewed, candidate, input), input);
  const facts = { ...factsOf(newest.rollout, input), ...newest, rollout: withoutOldApprovals(newest.rollout) };
  return isInProgress(rollout) ? { ...facts, rollout: { ...facts.rollout, ...timesOf(facts) } } : facts;
}

/** While a newer release waits, no further gateway gets the release in progress. Its preview can still end. */
function newestWaits({ rollout, input, newestWait }: Facts): Next | undefined {
  const { phase } = rollout;
  const isPreviewOver = phase === 'Previewing' && isPreviewed(rollout, rollout, input);
  return newestWait && isInProgress(rollout) && !isPreviewOver ? { wait: newestWait } : undefined;
}
