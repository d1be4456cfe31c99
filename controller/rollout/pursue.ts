import type { RolloutStatus } from '../../shared/api/rollout.ts';
import { omit } from '../../shared/domain/objects.ts';
import { releaseOf } from '../../shared/domain/releases.ts';
import { ALL, isWithin, NO_GATEWAY } from '../../shared/domain/waves.ts';
import { type Admission, chooseAgain, hasHad } from './admission.ts';
import { waitBefore } from './approval.ts';
import { giveUp, inPhase } from './give-up.ts';
import { begin, iso, noteComplete } from './lifecycle.ts';
import { noteTrial, type Places, placesOf } from './places.ts';
import type { Advanced, RolloutInput, RolloutState, Wait } from './rollout-input.ts';
import { type Standing, standingOf } from './standing.ts';
import type { WaveStanding } from './wave-standing.ts';

/** State of the rollout, and progress of one wave. */
interface Situation {
  state: RolloutState;
  rollout: RolloutStatus;
  /** Index of the wave. */
  index: number;
  wave: WaveStanding;
  standing: Standing;
  input: RolloutInput;
}

type WaitForWave = Extract<Wait, { index: number }>;

/** A state change after which the next step follows at once. */
interface Moved {
  moved: RolloutState;
}

/** Advances wave by wave (admit, wait, soak) until nothing changes. */
export function pursue(before: RolloutState, input: RolloutInput): Advanced {
  let state = before;
  for (;;) {
    const next = takeStep(state, standingOf(state.rollout, input), input);
    if (!('moved' in next)) return next;
    state = next.moved;
  }
}

/** Takes one step. If the wave is unknown, the rollout begins again. */
function takeStep(state: RolloutState, standing: Standing, input: RolloutInput): Advanced | Moved {
  const { rollout } = state;
  const { index = -1, waves } = standing;
  const wave = waves[index];
  if (!wave) return { moved: begin(state, releaseOf(rollout), input) };
  if (changesNothing(rollout, standing)) return { state: noteComplete(state, input), wait: { kind: 'none' } };
  const situation = { state, rollout, index, wave, standing, input };
  const hasBegun = rollout.waveStartedAt !== undefined;
  const isOver = needsNoTrial(situation, index);
  const wait = hasBegun || isOver ? undefined : waitBefore(index, rollout, { rollout, input });
  if (wait) return { state: inPhase(state, wait.kind === 'window' ? 'AwaitingWindow' : 'AwaitingApproval'), wait };
  const earlier = waitForEarlier(situation);
  if (earlier && needsNoTrial(situation, earlier.index)) return { moved: passOver(state, earlier.index) };
  if (!hasBegun && earlier) return refillEnded(situation, earlier) ?? progress(state, earlier);
  if (isOver && !earlier) return endWave(passOver(state, index), index, input);
  const refilled = refill(situation);
  if (refilled) return { moved: refilled };
  const begun = hasBegun ? undefined : beginWave(situation);
  if (begun) return begun;
  if (wave.counted.length === 0) return progress(state, { kind: 'noGateway', index });
  const places = placesOf(rollout, index, { standing, input });
  const tried = noteTrial(rollout, index, { places, standing });
  if (tried) return { moved: { ...state, rollout: tried } };
  return (earlier || !input.window.isOpen ? undefined : admit(situation, places)) ?? settle(situation, earlier);
}

/**
 * Whether a release that no gateway was admitted to leaves all gateways unchanged, including paused ones. In a wave
 * whose gateways are gone, replacements may be changed.
 */
export function changesNothing({ admittedAt, admission }: RolloutStatus, { waves, unchanged }: Standing): boolean {
  if (admittedAt !== undefined || unchanged.size === 0) return false;
  return waves.every(({ isUnchanged, hadChanges, present }, index) => {
    const isEmpty = present.length === 0 && !admission[index]?.gateways;
    return !hadChanges && (isUnchanged || isEmpty);
  });
}

/**
 * Whether the gateways of a wave need no trial because the release leaves them unchanged. If it has changed others that
 * are gone, their replacements have the whole deadline to appear: the release may be the reason. Others that weren't
 * ready before have the same time.
 */
function needsNoTrial({ rollout, standing, input }: Situation, index: number): boolean {
  const { isUnchanged = false, isIdle = false, hadChanges = false } = standing.waves[index] ?? {};
  const isUntouched = rollout.admission[index]?.admitted === NO_GATEWAY && !hadChanges;
  return (isUnchanged && isUntouched) || (isIdle && isEmptyForLong(rollout, input));
}

/** Notes that a wave is unchanged, and forgets that it had gateways, so that it requires no verified one. */
function passOver({ rollout, history }: RolloutState, index: number): RolloutState {
  const admission = rollout.admission.map((entry, at) =>
    at === index ? { ...omit(entry, 'gateways'), isUnchanged: true } : entry,
  );
  return { history, rollout: { ...rollout, admission } };
}

const progress = (state: RolloutState, wait: Wait): Advanced => ({ state: inPhase(state, 'Progressing'), wait });

/** Begins a wave that has gateways to verify, and passes over a wave that needs none. */
function beginWave(situation: Situation): Advanced | Moved | undefined {
  const { state, rollout, index, wave, input } = situation;
  const { counted, skipped } = wave;
  if (counted.length === 0) return mayPassOver(situation) ? endWave(state, index, input) : undefined;
  // As many must be healthy in the end, if they still exist.
  const gateways = counted.length - skipped.length;
  const admission = gateways > 0 ? withEntry(rollout.admission, index, { gateways }) : rollout.admission;
  return { moved: { ...state, rollout: { ...rollout, admission, waveStartedAt: iso(input.now) } } };
}

const withEntry = (admission: Admission, index: number, change: Partial<Admission[number]>): Admission =>
  admission.map((entry, at) => (at === index ? { ...entry, ...change } : entry));

/** Selects new gateways for a percentage wave whose gateways are all gone. */
function refill({ state, rollout, index, standing, input }: Situation): RolloutState | undefined {
  if (standing.waves[index]?.counted.length !== 0) return undefined;
  const { spec, gateways } = input;
  const amount = spec.waves?.[index]?.gateways;
  const admission = chooseAgain(rollout.admission, index, { amount, gateways, isLate: isEmptyForLong(rollout, input) });
  const isSame = admission[index]?.members === rollout.admission[index]?.members;
  return isSame ? undefined : { ...state, rollout: { ...rollout, admission } };
}

/** Refills a completed percentage wave that lost its gateways before the next admission; verifies it again. */
function refillEnded(situation: Situation, earlier: WaitForWave): Moved | undefined {
  if (earlier.kind !== 'noGateway') return undefined;
  const next = refill({ ...situation, index: earlier.index });
  if (!next) return undefined;
  const wave = next.rollout.admission[earlier.index]?.wave ?? '';
  return { moved: { ...next, rollout: { ...next.rollout, wave, waveStartedAt: iso(situation.input.now) } } };
}

/** Whether the wave has waited for missing gateways for the whole deadline. */
const isEmptyForLong = ({ waitsFor, waitsSince }: RolloutStatus, { now, deadlineMs }: RolloutInput): boolean =>
  waitsFor === 'Gateways' && waitsSince !== undefined && now >= Date.parse(waitsSince) + deadlineMs;

/**
 * Whether a wave without gateways is done. One that never had any is done, unless it is new and they may be starting,
 * or no gateway is left although some existed. The last wave that had any is done after it was empty for the whole
 * deadline, if other gateways are verified. Other waves wait: later waves must not get an unverified release.
 */
function mayPassOver({ rollout, index, standing, input }: Situation): boolean {
  const { admission, startedAt } = rollout;
  const { now, deadlineMs } = input;
  const { gateways } = admission[index] ?? {};
  if (!gateways) {
    const isAwaited = gateways === 0 && now < Date.parse(startedAt) + deadlineMs;
    const isAnyLeft = standing.counted.length + standing.unchanged.size > 0;
    return !isAwaited && (isAnyLeft || !admission.some(hasHad));
  }
  const isLast = !admission.slice(index + 1).some(hasHad);
  return isLast && standing.verified.size > 0 && isEmptyForLong(rollout, input);
}

/**
 * Returns the wait for a completed wave that is no longer healthy. Until it is, no other wave begins, admits more, or
 * ends. An empty wave blocks the rollout only if no other gateway is verified.
 */
function waitForEarlier(situation: Situation): WaitForWave | undefined {
  const { rollout, index, standing } = situation;
  const { admission } = rollout;
  const { waves, verified } = standing;
  for (const [before, { counted, isDone }] of waves.slice(0, index).entries()) {
    if (!admission[before]?.gateways || isDone) continue;
    if (counted.length > 0) return { kind: 'gateways', index: before };
    const isShown = waves.slice(before + 1, index + 1).some((wave) => wave.counted.some((each) => verified.has(each)));
    if (!isShown) return { kind: 'noGateway', index: before };
  }
  return undefined;
}

/** Admits as many gateways as can be in progress. */
function admit({ state, rollout, index, input }: Situation, { admitted }: Places): Moved | undefined {
  const before = rollout.admission[index]?.admitted;
  if (before === ALL || admitted === before) return undefined;
  const admission = withEntry(rollout.admission, index, { admitted });
  return { moved: { ...state, rollout: { ...rollout, admission, admittedAt: iso(input.now) } } };
}

/** Ends a wave after all of its gateways are done and have soaked. */
function settle(situation: Situation, earlier: Wait | undefined): Advanced | Moved {
  const { state, rollout, index, wave, standing, input } = situation;
  const { isHealthy, isDone, awaited, present } = wave;
  if (!isHealthy || !awaited.every((gateway) => standing.admitted.has(gateway))) return waitFor(situation, earlier);
  const since = rollout.soakStartedAt ?? iso(input.now);
  const soakMs = input.soakMs[index] ?? 0;
  const soaking = soakMs > 0 ? { ...state, rollout: { ...rollout, soakStartedAt: since } } : state;
  if (input.now - Date.parse(since) < soakMs) return { state: inPhase(soaking, 'Soaking'), wait: { kind: 'soak' } };
  if (earlier || !isDone) return progress(soaking, earlier ?? { kind: 'gateways', index });
  // Gateways that join a completed wave get its release, so all present ones must have had their turn first.
  const { admitted = '' } = rollout.admission[index] ?? {};
  const tried = { ...soaking, rollout: { ...soaking.rollout, ...triedIn(situation) } };
  if (present.every(({ key }) => isWithin(key, admitted))) return endWave(tried, index, input);
  return input.window.isOpen ? progress(soaking, { kind: 'gateways', index }) : awaitWindow(soaking);
}

/** Notes whether gateways of a wave have tried the release. Unchanged ones haven't, so the first trial is still to come. */
function triedIn({ rollout, index, wave }: Situation): Pick<RolloutStatus, 'admission' | 'isTried'> {
  const { admission, preview, isTried } = rollout;
  if (wave.isStandIn) return { admission: withEntry(admission, index, { isUnchanged: true }), isTried };
  return { admission, isTried: preview ? true : isTried };
}

const awaitWindow = (state: RolloutState): Advanced => ({
  state: inPhase(state, 'AwaitingWindow'),
  wait: { kind: 'window' },
});

function waitFor({ state, rollout, index, wave, standing, input }: Situation, earlier: Wait | undefined): Advanced {
  const { counted, awaited, pending } = wave;
  const waiting = progress(state, earlier ?? { kind: 'gateways', index });
  // The release failed on all gateways that count, so maxFailures doesn't matter, unless replacements may come.
  if (awaited.length > 0 && pending.length === 0 && !counted.some((gateway) => standing.verified.has(gateway))) {
    const isWhole = awaited.length >= (rollout.admission[index]?.gateways ?? 0);
    return isWhole || isEmptyForLong(rollout, input)
      ? { state: giveUp(state, input), wait: { kind: 'none' } }
      : waiting;
  }
  const isLetIn = pending.some((gateway) => standing.admitted.has(gateway));
  return earlier || input.window.isOpen || pending.length === 0 || isLetIn ? waiting : awaitWindow(state);
}

/** Continues with the next wave, or completes the rollout. Gateways that join this wave later get its release. */
function endWave({ rollout, history }: RolloutState, index: number, input: RolloutInput): Advanced | Moved {
  const wave = rollout.admission[index + 1]?.wave;
  const admission = rollout.admission.map((entry, at) => (at === index ? ended(entry) : entry));
  const ending = { waveStartedAt: undefined, soakStartedAt: undefined, waitsFor: undefined };
  const next = { history, rollout: { ...rollout, ...ending, admission, wave } };
  return wave === undefined ? { state: noteComplete(next, input), wait: { kind: 'none' } } : { moved: next };
}

/** From now on, a wave that was new is passed over like any other. */
const ended = (entry: Admission[number]): Admission[number] => ({
  ...(entry.gateways === 0 ? omit(entry, 'gateways') : entry),
  admitted: ALL,
});
