import type { RolloutPhase, RolloutStatus } from '../../shared/api/rollout.ts';
import { type Release, releaseOf } from '../../shared/domain/releases.ts';
import { ALL, isWithin } from '../../shared/domain/waves.ts';
import { admitMore, amountOf, chooseAgain } from './admission.ts';
import { awaitedIn, isSettled, openIn, withoutTimes } from './failures.ts';
import { giveUp, inPhase } from './give-up.ts';
import type { Advanced, RolloutGateway, RolloutInput, RolloutState, Wait } from './rollout-input.ts';
import { isLater, isSkipped, type Standing, standingOf, waveUnderWay } from './standing.ts';
import { begin, iso, noteComplete } from './transitions.ts';

/** What keeps a wave from beginning. */
export function gateOf(wave: number, { commit }: Release, { spec, approved, window }: RolloutInput): Wait | undefined {
  if (!window.isOpen) return { kind: 'window' };
  const needsApproval = spec.waves?.[wave]?.approval === true;
  return needsApproval && approved !== commit ? { kind: 'approval' } : undefined;
}

/** One wave after the other: admits, waits, lets soak. Where nobody can say which wave it is, begins again. */
export function pursue(state: RolloutState, input: RolloutInput): Advanced {
  const { rollout } = state;
  const index = waveUnderWay(rollout);
  if (index === undefined) return pursue(begin(state, releaseOf(rollout), input), input);
  if (rollout.waveStartedAt === undefined) {
    const broken = brokenBefore(rollout, index, input);
    if (broken !== undefined) return pursue(lookAgain(state, broken, input), input);
    const gate = gateOf(index, rollout, input);
    return gate ? { state: inPhase(state, phaseOf(gate)), wait: gate } : pursue(beginWave(state, index, input), input);
  }
  const chosen = withMembers(state, index, input);
  return settle(input.window.isOpen ? admit(chosen, index, input) : chosen, index, input);
}

/** A wave that was done, and has gateways that are not well any more; before another one begins, it has to be done again. */
function brokenBefore(rollout: RolloutStatus, index: number, { gateways }: RolloutInput): string | undefined {
  const standing = standingOf(rollout, gateways);
  const isBroken = (wave: number) => standing.membersOf(wave).length > 0 && !isSettled(rollout, wave, standing);
  return rollout.admission.slice(0, index).find((_, wave) => isBroken(wave))?.wave;
}

const lookAgain = (state: RolloutState, wave: string, { now }: RolloutInput): RolloutState => ({
  ...state,
  rollout: { ...state.rollout, wave, waveStartedAt: iso(now), admittedAt: iso(now) },
});

const phaseOf = ({ kind }: Wait): RolloutPhase => (kind === 'window' ? 'AwaitingWindow' : 'AwaitingApproval');

/** Notes how many gateways a wave begins with: as many have to be well in the end, if they are still there. */
function beginWave(state: RolloutState, index: number, input: RolloutInput): RolloutState {
  const chosen = withMembers(state, index, input);
  const { startedAt, admission } = chosen.rollout;
  const members = standingOf(chosen.rollout, input.gateways).membersOf(index);
  const gateways = members.filter((gateway) => !isSkipped(gateway, startedAt)).length;
  const noted = admission.map((entry, at) => (at === index && gateways > 0 ? { ...entry, gateways } : entry));
  return { ...state, rollout: { ...chosen.rollout, admission: noted, waveStartedAt: iso(input.now) } };
}

/** A share whose gateways are all gone takes others. */
function withMembers(state: RolloutState, index: number, { spec, gateways }: RolloutInput): RolloutState {
  const { rollout } = state;
  if (standingOf(rollout, gateways).membersOf(index).length > 0) return state;
  const admission = chooseAgain(rollout.admission, index, { amount: spec.waves?.[index]?.gateways, gateways });
  return { ...state, rollout: { ...rollout, admission } };
}

/** Lets in as many as may be under way. Those that rest get it with the others, for when they rest no more. */
function admit(state: RolloutState, index: number, input: RolloutInput): RolloutState {
  const { rollout } = state;
  const { spec, gateways, now } = input;
  const { failures = [], startedAt, waveStartedAt } = rollout;
  const standing = standingOf(rollout, gateways);
  const members = standing.membersOf(index);
  const entry = rollout.admission[index] as RolloutStatus['admission'][number];
  if (entry.admitted === ALL || standing.presentIn(index).length === 0) return state;
  const { maxConcurrent } = spec.waves?.[index] ?? {};
  const most = maxConcurrent === undefined ? Number.POSITIVE_INFINITY : amountOf(maxConcurrent, members.length);
  const isBusy = (gateway: RolloutGateway) => !standing.verified.has(gateway) && !failures.includes(gateway.name);
  // Nobody waits for a pod that came later and does not start, nor for one whose node may be gone.
  const isStuck = (gateway: RolloutGateway) =>
    isSkipped(gateway, startedAt) || (isLater(gateway, waveStartedAt) && gateway.notReadySince !== undefined);
  const inside = members.filter(({ key }) => isWithin(key, entry.admitted));
  const underWay = inside.filter((gateway) => isBusy(gateway) && !isStuck(gateway)).length;
  const admitted = admitMore(members, entry.admitted, Math.max(0, most - underWay));
  if (admitted === entry.admitted) return state;
  const admission = rollout.admission.map((each, at) => (at === index ? { ...each, admitted } : each));
  // Those that nobody waits for do not keep others from being let in.
  return admit({ ...state, rollout: { ...rollout, admission, admittedAt: iso(now) } }, index, input);
}

/** A wave is done when everybody is settled, and has been for as long as it is to soak. */
function settle(state: RolloutState, index: number, input: RolloutInput): Advanced {
  const { rollout } = state;
  const standing = standingOf(rollout, input.gateways);
  if (standing.membersOf(index).length === 0) return settleWithNobody(state, index, { standing, input });
  if (!isSettled(rollout, index, standing)) return waitFor(state, index, { standing, input });
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

/**
 * Nobody shows whether all is well. A wave that never had a gateway is done; the last one that had is, when those
 * before it have shown it. Any other waits for somebody: what comes after it must not get what nobody has tried.
 */
function settleWithNobody(state: RolloutState, index: number, { standing, input }: Situation): Advanced {
  const { admission } = state.rollout;
  const isLast = admission.slice(index + 1).every(({ gateways }) => gateways === undefined);
  const isDone = admission[index]?.gateways === undefined || (isLast && standing.verified.size > 0);
  if (isDone) return endWave(state, index, input);
  const waiting = { ...state, rollout: withoutTimes(state.rollout) };
  return { state: inPhase(waiting, 'Progressing'), wait: { kind: 'nobody' } };
}

function waitFor(state: RolloutState, index: number, { standing, input }: Situation): Advanced {
  const { rollout } = state;
  const open = openIn(rollout, index, standing);
  const isAllIn = rollout.admission[index]?.admitted === ALL;
  // What failed on all that could tell is not well, however many may fail.
  const hasFailed = isAllIn && open.length === 0 && awaitedIn(rollout, index, standing).length > 0;
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
