import type { RolloutStatus } from '../../shared/api/rollout.ts';
import {
  canRetry,
  GIVEN_UP,
  isEntryOf,
  isInProgress,
  isSame,
  previewOf,
  type Release,
  releaseOf,
  rollbackTarget,
} from '../../shared/domain/rollout/releases.ts';
import { ALL, NO_GATEWAY } from '../../shared/domain/rollout/waves.ts';
import { currentWave, makeAdmission } from './admission.ts';
import type { Move } from './moves.ts';
import type { RolloutInput } from './rollout-input.ts';
import { begin, givenUpWith, handledOf, inAnyWave, isNext, rollBack, unlessEmpty } from './transitions.ts';

// Orders are annotations. Each has an effect once: an unchanged annotation has no further one, and an order that was
// removed can be set again.

/** Starts an abandoned commit again, or allows it to start. */
export function retryOrdered(before: RolloutStatus, input: RolloutInput): Move | undefined {
  const { retry } = input;
  const { handled, phase, commit, givenUp = [] } = before;
  if (retry === handled?.retry) return undefined;
  const isIgnored = retry !== undefined && !canRetry(retry, before);
  const rollout = noted(before, 'retry-rollout', { retry }, isIgnored);
  if (retry === undefined || isIgnored) return { to: phase, rollout };
  if (!GIVEN_UP.includes(phase) || retry !== commit) {
    const others = givenUp.filter((entry) => !isEntryOf(entry, retry));
    return { to: phase, rollout: { ...rollout, givenUp: unlessEmpty(others) } };
  }
  // The agents make another preview when the status has named none for a moment.
  const preview = previewOf(rollout, rollout) ? undefined : rollout.preview;
  return { to: 'Previewing', rollout: begin({ ...rollout, preview }, releaseOf(rollout), input) };
}

/** Rolls back to the ordered release, if it was complete. */
export function rollbackOrdered(before: RolloutStatus, input: RolloutInput): Move | undefined {
  const { rollback } = input;
  const { handled, phase } = before;
  if (rollback === handled?.rollback) return undefined;
  const target =
    rollback === undefined ? undefined : rollbackTarget(rollback, { rollout: before, completed: input.completed });
  const rollout = noted(before, 'rollback', { rollback }, rollback !== undefined && !target);
  if (!target) return { to: phase, rollout };
  return { to: 'RollingBack', rollout: rollBack(withoutUnseen(rollout, target, input), target, input) };
}

/**
 * Handles edited waves. No gateway is admitted any longer, because the earlier admissions don't fit, and a rollout in
 * progress begins again at the first wave.
 */
export function wavesWereEdited(rollout: RolloutStatus, input: RolloutInput): Move | undefined {
  const { spec, wavesHash, gateways } = input;
  const isLost = isInProgress(rollout) && currentWave(rollout) === undefined;
  if (rollout.plan === wavesHash && !isLost) return undefined;
  if (isInProgress(rollout)) return { to: 'Previewing', rollout: begin(rollout, releaseOf(rollout), input) };
  const admitted = rollout.phase === 'Complete' ? ALL : NO_GATEWAY;
  const admission = makeAdmission(spec, gateways, { admitted, before: rollout.admission });
  const preview = inAnyWave(rollout.preview, admission);
  return { to: rollout.phase, rollout: { ...rollout, wave: undefined, plan: wavesHash, admission, preview } };
}

type Handled = NonNullable<RolloutStatus['handled']>;

/** Notes the value of an order, and whether it has no effect. */
function noted(
  rollout: RolloutStatus,
  order: NonNullable<Handled['ignored']>[number],
  values: Partial<Handled>,
  isIgnored: boolean,
): RolloutStatus {
  const { handled = {} } = rollout;
  const others = (handled.ignored ?? []).filter((each) => each !== order);
  const ignored = unlessEmpty((isIgnored ? [...others, order] : others).sort());
  return { ...rollout, handled: handledOf({ ...handled, ...values, ignored }) };
}

/** Abandons a commit that arrived together with a rollback order, because the user hasn't seen it in the status yet. */
function withoutUnseen(rollout: RolloutStatus, target: Release, { newest }: RolloutInput): RolloutStatus {
  const isKnown = !newest || isNext(newest, rollout) || isSame(newest, rollout);
  if (isKnown || isSame(newest, target)) return rollout;
  return { ...rollout, givenUp: givenUpWith(rollout, newest) };
}
