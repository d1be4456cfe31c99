import type { HistoryEntry, RolloutStatus } from '../../shared/api/rollout.ts';
import { isSame, type Release, releaseOf, stableOf } from '../../shared/domain/releases.ts';
import { ALL, NOBODY } from '../../shared/domain/waves.ts';
import { makeAdmission } from './admission.ts';
import type { RolloutInput, RolloutState } from './rollout-input.ts';

const stableFields = ({ commit, ref, revision }: Release) => ({
  stableCommit: commit,
  stableRef: ref,
  stableRevision: revision,
});

/** As the status has times: milliseconds since the epoch in RFC 3339. */
export const iso = (time: number): string => new Date(time).toISOString();
const noCounts = { admitted: 0, verified: 0, failed: 0, total: 0, summary: '' };

/** What is in place counts as complete, since there is nothing yet that could be protected. Earlier orders are none. */
export function makeFirst(input: RolloutInput): RolloutState | undefined {
  const release = input.inPlace ?? input.wanted;
  if (!release) return undefined;
  const rollout: RolloutStatus = {
    ...{ number: 1, phase: 'Complete', ...noCounts },
    ...releaseOf(release),
    ...stableFields(release),
    startedAt: iso(input.now),
    plan: input.plan,
    admission: makeAdmission(input.spec, input.gateways, ALL),
    ...handledOf(input),
  };
  return { rollout, history: remembered([], release, input) };
}

/** Notes the orders that there are, if any. */
export function handledOf({ rollback, retry }: RolloutInput): Pick<RolloutStatus, 'handled'> {
  const handled = { ...(rollback !== undefined && { rollback }), ...(retry !== undefined && { retry }) };
  return Object.keys(handled).length > 0 ? { handled } : {};
}

/** The newest first, each once. */
function remembered(history: HistoryEntry[], release: Release, { now, historyLength }: RolloutInput): HistoryEntry[] {
  const others = history.filter((entry) => !isSame(entry, release));
  return [{ ...releaseOf(release), time: iso(now) }, ...others].slice(0, historyLength);
}

/** What all rollouts begin with; what was handled stays so. */
function renewed(
  { number, handled, stableCommit, stableRef, stableRevision }: RolloutStatus,
  { spec, gateways, plan, now }: RolloutInput,
  admitted: string,
) {
  return {
    number: number + 1,
    ...noCounts,
    ...{ stableCommit, stableRef, stableRevision },
    startedAt: iso(now),
    plan,
    admission: makeAdmission(spec, gateways, admitted),
    ...(handled && { handled }),
  };
}

/** A release starts at the first wave. */
export function begin({ rollout, history }: RolloutState, release: Release, input: RolloutInput): RolloutState {
  const next = renewed(rollout, input, NOBODY);
  const [{ wave = '' } = {}] = next.admission;
  return { history, rollout: { ...next, phase: 'Progressing', ...releaseOf(release), wave } };
}

/** The newest release is the stable one, which everybody may have at once. */
export function returnToStable({ rollout, history }: RolloutState, input: RolloutInput): RolloutState {
  const { givenUp } = rollout;
  const next = { ...renewed(rollout, input, ALL), ...(givenUp && { givenUp }) };
  return { history, rollout: { ...next, phase: 'Complete', ...stableOf(rollout) } };
}

/** Takes everybody back; the release that they leave is remembered, so that it is not tried again. */
export function rollBack({ rollout, history }: RolloutState, target: Release, input: RolloutInput): RolloutState {
  const next = renewed(rollout, input, NOBODY);
  return {
    // What came after it was no good.
    history: history.slice(
      Math.max(
        0,
        history.findIndex((entry) => isSame(entry, target)),
      ),
    ),
    rollout: {
      ...next,
      phase: 'RollingBack',
      ...releaseOf(rollout),
      ...stableFields(target),
      givenUp: givenUpWith(rollout),
    },
  };
}

/** The releases that were given up last, with the present one; each as a commit and a revision. */
export function givenUpWith({ givenUp = [], commit, revision }: RolloutStatus): string[] {
  return [...new Set([`${commit} ${revision}`, ...givenUp])].slice(0, MAX_GIVEN_UP);
}

const MAX_GIVEN_UP = 4;

/** All waves are done: the release is the stable one. */
export function noteComplete({ rollout, history }: RolloutState, input: RolloutInput): RolloutState {
  const release = releaseOf(rollout);
  const admission = rollout.admission.map((entry) => ({ ...entry, admitted: ALL }));
  return {
    rollout: { ...rollout, phase: 'Complete', ...stableFields(release), admission },
    history: remembered(history, release, input),
  };
}
