import type { RolloutStatus } from '../../shared/api/rollout.ts';
import { withoutUndefined } from '../../shared/domain/objects.ts';
import { GIVEN_UP, isSame, type Release, releaseOf, rollbackTarget } from '../../shared/domain/releases.ts';
import { EVERY_CHANGE, showsNoChanges } from './approval.ts';
import { approvedRevisionOf } from './approved-release.ts';
import { begin, givenUpWith, isNext, rollBack, unlessEmpty } from './lifecycle.ts';
import { previewOf } from './preview.ts';
import type { RolloutInput, RolloutState } from './rollout-input.ts';

/** Carries out orders from annotations, each once: an unchanged annotation has no further effect. */
export function applyOrders(state: RolloutState, input: RolloutInput): RolloutState {
  const { rollback, retry } = input;
  const { handled = {} } = state.rollout;
  let next = state;
  const ignored = new Set(handled.ignored);
  if (retry !== handled.retry) ignored.delete('retry-rollout');
  if (rollback !== handled.rollback) ignored.delete('rollback');
  if (retry !== undefined && retry !== handled.retry) {
    const tried = retryCommit(next, retry, input);
    if (!tried) ignored.add('retry-rollout');
    next = tried ?? next;
  }
  if (rollback !== undefined && rollback !== handled.rollback) {
    const target = rollbackTarget(rollback, next);
    if (!target) ignored.add('rollback');
    else next = rollBack(withoutUnseen(next, target, input), target, input);
  }
  const approval = approvalOf(input, state.rollout);
  ignored.delete('approve');
  if (approval.approve !== undefined && approval.approvedRevision === undefined) ignored.add('approve');
  // An order that was removed can be set again.
  const orders = withoutUndefined({ ...approval, rollback, retry, ignored: unlessEmpty([...ignored].sort()) });
  return { ...next, rollout: { ...next.rollout, handled: Object.keys(orders).length > 0 ? orders : undefined } };
}

type Handled = NonNullable<RolloutStatus['handled']>;

/** Returns the approval, with the changes that it applies to if it is the same one as before. */
function approvalOf(input: RolloutInput, rollout: RolloutStatus): Handled {
  const { approved } = input;
  if (approved === undefined) return {};
  const { handled = {} } = rollout;
  const approvedRevision = approvedRevisionOf(approved, rollout);
  const isSameApproval = handled.approve === approved && handled.approvedRevision === approvedRevision;
  if (isSameApproval) return { approve: approved, approvedRevision, approvedDigests: handled.approvedDigests };
  const approving = { ...rollout, handled: { approve: approved, approvedRevision } };
  const isOfAll = approvedRevision !== undefined && showsNoChanges(approving, input);
  return { approve: approved, approvedRevision, approvedDigests: isOfAll ? [EVERY_CHANGE] : undefined };
}

/** Starts an abandoned commit again, or allows it to start; undefined if the commit wasn't abandoned. */
function retryCommit(state: RolloutState, commit: string, input: RolloutInput): RolloutState | undefined {
  const { rollout } = state;
  if (GIVEN_UP.includes(rollout.phase) && commit === rollout.commit) {
    // The agents make another preview when the status has named none for a moment.
    const preview = previewOf(rollout, rollout) ? undefined : rollout.preview;
    return begin({ ...state, rollout: { ...rollout, preview } }, releaseOf(rollout), input);
  }
  const { givenUp = [] } = rollout;
  const others = givenUp.filter((release) => !release.startsWith(`${commit} `));
  return others.length < givenUp.length
    ? { ...state, rollout: { ...rollout, givenUp: unlessEmpty(others) } }
    : undefined;
}

/** Abandons a commit that arrived together with a rollback order, because the user hasn't seen it in the status yet. */
function withoutUnseen(state: RolloutState, target: Release, { wanted }: RolloutInput): RolloutState {
  const { rollout } = state;
  const isKnown = !wanted || isNext(wanted, rollout) || isSame(wanted, rollout);
  if (isKnown || isSame(wanted, target)) return state;
  return { ...state, rollout: { ...rollout, givenUp: givenUpWith(rollout, wanted) } };
}
