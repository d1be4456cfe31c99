import type { RolloutPhase, RolloutStatus } from '../../shared/api/rollout.ts';
import { type Release, releaseOf } from '../../shared/domain/releases.ts';
import { ALL } from '../../shared/domain/waves.ts';
import { chooseAgain } from './admission.ts';
import { awaitedIn, hasLetIn, isDone, openIn, withoutTimes } from './failures.ts';
import { giveUp, inPhase } from './give-up.ts';
import { placesOf } from './places.ts';
import type { Advanced, RolloutInput, RolloutState, Wait } from './rollout-input.ts';
import { isSkipped, type Standing, standingOf, waveUnderWay } from './standing.ts';
import { begin, iso, noteComplete } from './transitions.ts';

/** What keeps a wave from beginning. */
export function gateOf(wave: number, { commit }: Release, { spec, approved, window }: RolloutInput): Wait | undefined {
  if (!window.isOpen) return { kind: 'window' };
  const needsApproval = spec.waves?.[wave]?.approval === true;
  return needsApproval && approved !== commit ? { kind: 'approval' } : undefined;
}

/** One wave after the other: admits, waits, lets soak. Where nobody can say which wave it is, begins again. */
export function pursue(before: RolloutState, input: RolloutInput): Advanced {
  const index = waveUnderWay(before.rollout);
  if (index === undefined) return pursue(begin(before, releaseOf(before.rollout), input), input);
  const hasBegun = before.rollout.waveStartedAt !== undefined;
  const state = hasBegun ? withMembers(before, index, input) : before;
  const { rollout } = state;
  const isAllIn = hasBegun && rollout.admission[index]?.admitted === ALL;
  const broken = isAllIn ? undefined : brokenBefore(rollout, index, input);
  if (broken !== undefined)
    return pursueWave(withMembers(lookAgain(before, broken, input), broken, input), broken, input);
  if (hasBegun) return pursueWave(state, index, input);
  const gate = gateOf(index, rollout, input);
  return gate
    ? { state: inPhase(state, phaseOf(gate)), wait: gate }
    : pursueWave(beginWave(state, index, input), index, input);
}

function pursueWave(state: RolloutState, index: number, input: RolloutInput): Advanced {
  return settle(input.window.isOpen ? admit(state, index, input) : state, index, input);
}

/**
 * A wave that was done, and is not well any more, or has nobody any more who could show it: before another one begins, or
 * lets in more, it has to be done again.
 */
function brokenBefore(rollout: RolloutStatus, index: number, input: RolloutInput): number | undefined {
  const standing = standingOf(rollout, input);
  const broken = rollout.admission.slice(0, index).findIndex((_, wave) => !isDone(rollout, wave, standing));
  return broken === -1 ? undefined : broken;
}

function lookAgain({ rollout, history }: RolloutState, index: number, input: RolloutInput): RolloutState {
  const wave = rollout.admission[index]?.wave ?? '';
  return { history, rollout: { ...withoutTimes(rollout), wave, ...timesOf(rollout, index, input) } };
}

/** A wave that had begun before goes on from there: whoever was let in then is under way from now on. */
function timesOf(rollout: RolloutStatus, index: number, input: RolloutInput) {
  const isUnderWay = hasLetIn(rollout, index, standingOf(rollout, input));
  return { waveStartedAt: iso(input.now), ...(isUnderWay && { admittedAt: iso(input.now) }) };
}

const phaseOf = ({ kind }: Wait): RolloutPhase => (kind === 'window' ? 'AwaitingWindow' : 'AwaitingApproval');

/** Notes how many gateways a wave begins with: as many have to be well in the end, if they are still there. */
function beginWave(state: RolloutState, index: number, input: RolloutInput): RolloutState {
  const chosen = withMembers(state, index, input);
  const { startedAt, admission } = chosen.rollout;
  const members = standingOf(chosen.rollout, input).membersOf(index);
  const gateways = members.filter((gateway) => !isSkipped(gateway, startedAt)).length;
  const noted = admission.map((entry, at) => (at === index && gateways > 0 ? { ...entry, gateways } : entry));
  const times = timesOf(chosen.rollout, index, input);
  return { ...state, rollout: { ...chosen.rollout, admission: noted, ...times } };
}

/** A share whose gateways are all gone takes others. */
function withMembers(state: RolloutState, index: number, input: RolloutInput): RolloutState {
  const { rollout } = state;
  const { spec, gateways } = input;
  if (standingOf(rollout, input).membersOf(index).length > 0) return state;
  const admission = chooseAgain(rollout.admission, index, { amount: spec.waves?.[index]?.gateways, gateways });
  return { ...state, rollout: { ...rollout, admission } };
}

/** Lets in as many as may be under way. Those that rest get it with the others, for when they rest no more. */
function admit(state: RolloutState, index: number, input: RolloutInput): RolloutState {
  const { rollout } = state;
  const standing = standingOf(rollout, input);
  const before = rollout.admission[index]?.admitted;
  if (before === ALL || standing.presentIn(index).length === 0) return state;
  const { admitted } = placesOf(rollout, index, { standing, input });
  if (admitted === before) return state;
  const admission = rollout.admission.map((each, at) => (at === index ? { ...each, admitted } : each));
  return { ...state, rollout: { ...rollout, admission, admittedAt: iso(input.now) } };
}

/** A wave is done when everybody is settled, and has been for as long as it is to soak. */
function settle(state: RolloutState, index: number, input: RolloutInput): Advanced {
  const { rollout } = state;
  const standing = standingOf(rollout, input);
  if (!isDone(rollout, index, standing)) return waitFor(state, index, { standing, input });
  if (standing.membersOf(index).length === 0) return endWave(state, index, input);
  const since = rollout.soakStartedAt ?? iso(input.now);
  if (input.now - Date.parse(since) < (input.soakMs[index] ?? 0)) {
    const soaking = { ...state, rollout: { ...rollout, soakStartedAt: since } };
    return { state: inPhase(soaking, 'Soaking'), wait: { kind: 'soak' } };
  }
  return endWave(state, index, input);
}

interface Situation {
  standing: Standing;
  input: RolloutInput;
}

function waitFor(state: RolloutState, index: number, { standing, input }: Situation): Advanced {
  const { rollout } = state;
  if (standing.membersOf(index).length === 0)
    return { state: inPhase({ ...state, rollout: withoutTimes(rollout) }, 'Progressing'), wait: { kind: 'nobody' } };
  const open = openIn(rollout, index, standing);
  const isAllIn = rollout.admission[index]?.admitted === ALL;
  // What failed on all that could tell is not well, however many may fail.
  const told = awaitedIn(rollout, index, standing).length;
  const hasFailed = isAllIn && open.length === 0 && told > 0 && told >= (rollout.admission[index]?.gateways ?? 0);
  if (hasFailed) return giveUp(state, input);
  const isShut = open.length === 0 && !isAllIn && !input.window.isOpen;
  return isShut
    ? { state: inPhase(state, 'AwaitingWindow'), wait: { kind: 'window' } }
    : { state: inPhase(state, 'Progressing'), wait: { kind: 'gateways' } };
}

/** On to the next wave; after the last one all is complete. Who comes to this one later takes what it has. */
function endWave(state: RolloutState, index: number, input: RolloutInput): Advanced {
  const { waveStartedAt: _, wave: __, ...rest } = withoutTimes(state.rollout);
  const wave = rest.admission[index + 1]?.wave;
  const admission = rest.admission.map((entry, at) => (at === index ? { ...entry, admitted: ALL } : entry));
  if (wave === undefined)
    return { state: noteComplete({ ...state, rollout: { ...rest, admission } }, input), wait: { kind: 'none' } };
  return pursue({ ...state, rollout: { ...rest, admission, wave } }, input);
}
