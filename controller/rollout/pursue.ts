import type { RolloutPhase, RolloutStatus } from '../../shared/api/rollout.ts';
import { type Release, releaseOf } from '../../shared/domain/releases.ts';
import { ALL, isWithin } from '../../shared/domain/waves.ts';
import { chooseAgain, waveUnderWay } from './admission.ts';
import { giveUp, inPhase } from './give-up.ts';
import { placesOf } from './places.ts';
import type { Advanced, RolloutInput, RolloutState, Wait } from './rollout-input.ts';
import { type Standing, standingOf } from './standing.ts';
import { begin, iso, noteComplete } from './transitions.ts';

/** What keeps a wave from beginning. */
export function gateOf(wave: number, { commit, revision }: Release, input: RolloutInput): Wait | undefined {
  const { spec, approved, approvedRevision = revision, window } = input;
  if (!window.isOpen) return { kind: 'window' };
  const isApproved = spec.waves?.[wave]?.approval !== true || (approved === commit && approvedRevision === revision);
  return isApproved ? undefined : { kind: 'approval' };
}

/** One wave after the other: admits, waits, lets soak. Where nobody can say which wave it is, begins again. */
export function pursue(before: RolloutState, input: RolloutInput): Advanced {
  const index = waveUnderWay(before.rollout);
  if (index === undefined) return pursue(begin(before, releaseOf(before.rollout), input), input);
  const hasBegun = before.rollout.waveStartedAt !== undefined;
  return hasBegun ? goOn(withMembers(before, index, input), index, input) : beginWave(before, index, input);
}

/** A wave begins when nothing keeps it from it, those before are well, and it has somebody who can show that all is well. */
function beginWave(before: RolloutState, index: number, input: RolloutInput): Advanced {
  const gate = gateOf(index, before.rollout, input);
  if (gate) return { state: inPhase(before, phaseOf(gate)), wait: gate };
  const held = heldBy(before.rollout, index, standingOf(before.rollout, input));
  if (held) return chosenAgain(before, held, input) ?? { state: inPhase(before, 'Progressing'), wait: held };
  const state = withMembers(before, index, input);
  const { rollout } = state;
  const standing = standingOf(rollout, input);
  const { members = [], skipped = [] } = standing.waves[index] ?? {};
  if (members.length === 0) {
    if (mayPassOver(rollout, index, { standing, input })) return endWave(state, index, input);
    return { state: inPhase(empty(state, input), 'Progressing'), wait: { kind: 'nobody', index } };
  }
  // As many have to be well in the end, if they are still there.
  const gateways = members.length - skipped.length;
  const admission = rollout.admission.map((entry, at) =>
    at === index && gateways > 0 ? { ...entry, gateways } : entry,
  );
  const begun = { ...rollout, admission, waveStartedAt: iso(input.now) };
  return goOn(peopled({ ...state, rollout: begun }), index, input);
}

/** A share that was done, and is gone before anybody else was let in: others take its place, and have to be well. */
function chosenAgain(state: RolloutState, held: Wait, input: RolloutInput): Advanced | undefined {
  if (held.kind !== 'nobody') return undefined;
  const { index } = held;
  const { rollout } = withMembers(state, index, input);
  if (rollout.admission[index]?.members === state.rollout.admission[index]?.members) return undefined;
  const wave = rollout.admission[index]?.wave ?? '';
  return goOn({ ...state, rollout: { ...rollout, wave, waveStartedAt: iso(input.now) } }, index, input);
}

/** Notes since when there is nobody who could show that all is well. */
const empty = ({ rollout, history }: RolloutState, { now }: RolloutInput): RolloutState => ({
  history,
  rollout: { ...rollout, emptySince: rollout.emptySince ?? iso(now) },
});

function peopled({ rollout: { emptySince: _, ...rollout }, history }: RolloutState): RolloutState {
  return { rollout, history };
}

/** Whether a wave has had nobody for as long as the deadline is. */
const isEmptyForLong = ({ emptySince }: RolloutStatus, { now, deadlineMs }: RolloutInput): boolean =>
  emptySince !== undefined && now >= Date.parse(emptySince) + deadlineMs;

interface Situation {
  standing: Standing;
  input: RolloutInput;
}

/**
 * Whether a wave is done without anybody. One that never had a gateway is, unless it is new, and its gateways may be on
 * their way, or there is none at all and there were some. The last one that had any is when it has had none for as long as
 * the deadline is, and others are verified. Any other waits: what comes after it must not get what nobody has tried.
 */
function mayPassOver(rollout: RolloutStatus, index: number, { standing, input }: Situation): boolean {
  const { admission, startedAt } = rollout;
  const { now, deadlineMs } = input;
  const entry = admission[index];
  if (entry?.gateways === undefined) {
    const isAwaited = entry?.isNew === true && now < Date.parse(startedAt) + deadlineMs;
    return !isAwaited && (standing.counted.length > 0 || admission.every(({ gateways }) => gateways === undefined));
  }
  const isLast = admission.slice(index + 1).every(({ gateways }) => gateways === undefined);
  return isLast && standing.verified.size > 0 && isEmptyForLong(rollout, input);
}

function goOn(state: RolloutState, index: number, input: RolloutInput): Advanced {
  const held = heldBy(state.rollout, index, standingOf(state.rollout, input));
  const isOpen = input.window.isOpen && !held;
  return settle(isOpen ? admit(state, index, input) : state, index, { held, input });
}

/**
 * A wave that was done, and is not well any more: until it is, no other one begins, lets in more, or ends. One that has
 * nobody any more holds up what nobody else is verified with.
 */
function heldBy({ admission }: RolloutStatus, index: number, { waves, verified }: Standing): Wait | undefined {
  for (const [before, { members, isDone }] of waves.slice(0, index).entries()) {
    if (admission[before]?.gateways === undefined || isDone) continue;
    if (members.length > 0) return { kind: 'gateways', index: before };
    const isShown = waves.slice(before + 1, index + 1).some((wave) => wave.members.some((each) => verified.has(each)));
    if (!isShown) return { kind: 'nobody', index: before };
  }
  return undefined;
}

const phaseOf = ({ kind }: Wait): RolloutPhase => (kind === 'window' ? 'AwaitingWindow' : 'AwaitingApproval');

/** A share whose gateways are all gone takes others. */
function withMembers(state: RolloutState, index: number, input: RolloutInput): RolloutState {
  const { rollout } = state;
  const { spec, gateways } = input;
  if (standingOf(rollout, input).waves[index]?.members.length !== 0) return state;
  const amount = spec.waves?.[index]?.gateways;
  const admission = chooseAgain(rollout.admission, index, { amount, gateways, isLate: isEmptyForLong(rollout, input) });
  return { ...state, rollout: { ...rollout, admission } };
}

/** Lets in as many as may be under way. */
function admit(state: RolloutState, index: number, input: RolloutInput): RolloutState {
  const { rollout } = state;
  const standing = standingOf(rollout, input);
  const before = rollout.admission[index]?.admitted;
  if (before === ALL || standing.waves[index]?.members.length === 0) return state;
  const { admitted } = placesOf(rollout, index, { standing, input });
  if (admitted === before) return state;
  const admission = rollout.admission.map((each, at) => (at === index ? { ...each, admitted } : each));
  return { ...state, rollout: { ...rollout, admission, admittedAt: iso(input.now) } };
}

/** A wave is done when everybody is settled, and has been for as long as it is to soak. */
function settle(
  before: RolloutState,
  index: number,
  { held, input }: { held: Wait | undefined; input: RolloutInput },
): Advanced {
  const standing = standingOf(before.rollout, input);
  const { isWell = false, isDone = false, awaited = [], present = [] } = standing.waves[index] ?? {};
  if (!isWell || !awaited.every((gateway) => standing.admitted.has(gateway)))
    return waitFor(before, index, { standing, input, held });
  const state = peopled(before);
  const { rollout } = state;
  const since = rollout.soakStartedAt ?? iso(input.now);
  const soakMs = input.soakMs[index] ?? 0;
  const soaking = soakMs > 0 ? { ...state, rollout: { ...rollout, soakStartedAt: since } } : state;
  if (input.now - Date.parse(since) < soakMs) return { state: inPhase(soaking, 'Soaking'), wait: { kind: 'soak' } };
  if (held || !isDone) return { state: inPhase(soaking, 'Progressing'), wait: held ?? { kind: 'gateways', index } };
  // Who comes to a wave that has ended takes what it has: so all who are there have had their turn before.
  const { admitted = '' } = rollout.admission[index] ?? {};
  if (!present.some(({ key }) => !isWithin(key, admitted))) return endWave(soaking, index, input);
  return input.window.isOpen
    ? { state: inPhase(soaking, 'Progressing'), wait: { kind: 'gateways', index } }
    : { state: inPhase(soaking, 'AwaitingWindow'), wait: { kind: 'window' } };
}

function waitFor(
  state: RolloutState,
  index: number,
  { standing, input, held }: Situation & { held: Wait | undefined },
): Advanced {
  const { rollout } = state;
  const { members = [], awaited = [], open = [] } = standing.waves[index] ?? {};
  if (members.length === 0)
    return { state: inPhase(empty(state, input), 'Progressing'), wait: { kind: 'nobody', index } };
  const notLetIn = open.filter((gateway) => !standing.admitted.has(gateway));
  // What failed on all that could tell is not well, however many may fail, once nobody comes in place of those that are gone.
  if (awaited.length > 0 && open.length === 0 && !members.some((gateway) => standing.verified.has(gateway))) {
    const isWhole = awaited.length >= (rollout.admission[index]?.gateways ?? 0);
    if (isWhole || isEmptyForLong(rollout, input)) return giveUp(state, input);
    return { state: inPhase(empty(state, input), 'Progressing'), wait: held ?? { kind: 'gateways', index } };
  }
  const isShut = !input.window.isOpen && notLetIn.length > 0 && notLetIn.length === open.length;
  return isShut && !held
    ? { state: inPhase(peopled(state), 'AwaitingWindow'), wait: { kind: 'window' } }
    : { state: inPhase(peopled(state), 'Progressing'), wait: held ?? { kind: 'gateways', index } };
}

/** On to the next wave; after the last one all is complete. Who comes to this one later takes what it has. */
function endWave(state: RolloutState, index: number, input: RolloutInput): Advanced {
  const { waveStartedAt: _, soakStartedAt: __, wave: ___, emptySince: ____, ...rest } = state.rollout;
  const wave = rest.admission[index + 1]?.wave;
  const admission = rest.admission.map(({ isNew, ...entry }, at) =>
    at === index ? { ...entry, admitted: ALL } : { ...entry, ...(isNew && { isNew }) },
  );
  if (wave === undefined)
    return { state: noteComplete({ ...state, rollout: { ...rest, admission } }, input), wait: { kind: 'none' } };
  return pursue({ ...state, rollout: { ...rest, admission, wave } }, input);
}
