import { ALL, isWithin } from '../../../shared/domain/waves.ts';
import { type Admission, chooseAgain, hadGateways } from '../admission.ts';
import { waitBefore } from '../approval.ts';
import type { Facts } from '../facts.ts';
import type { Move, Next, Wait } from '../rollout-input.ts';
import { slotsOf } from '../slots.ts';
import { change, complete, iso } from '../transitions.ts';
import type { WaveFacts } from '../wave-facts.ts';

/** Phases in which users or the time have to allow the next gateways. */
type Gated = 'AwaitingApproval' | 'AwaitingWindow';

/** Waits for the approval or the window that the next gateways of a rollout need. */
export function waitForGate(facts: Facts): Next<Gated | 'Progressing'> {
  const gate = gateOf(facts);
  if (!gate) return { to: 'Progressing', state: facts.state };
  const to = gate === 'approval' ? 'AwaitingApproval' : 'AwaitingWindow';
  return to === facts.rollout.phase ? { wait: { kind: gate } } : { to, state: facts.state };
}

/** Lets gateways have the release, wave by wave, and waits until they are verified. */
export function releaseAndVerify(facts: Facts): Next<Gated | 'Progressing' | 'Soaking' | 'Complete'> {
  const { state, wave, unhealthyWave, input } = facts;
  if (facts.changesNothing) return { to: 'Complete', state: complete(state, input) };
  if (!wave) return { wait: { kind: 'none' } };
  if (gateOf(facts)) return waitForGate(facts);
  if (unhealthyWave && hasLostChanges(unhealthyWave, facts)) return endWave(unhealthyWave, facts);
  if (!facts.rollout.waveStartedAt) {
    if (unhealthyWave) return refill(unhealthyWave, facts) ?? { wait: waitFor(unhealthyWave) };
    if (wave.canBeSkipped) return endWave(wave, facts);
  }
  return (
    refill(wave, facts) ??
    beginWave(wave, facts) ??
    releaseMore(wave, facts) ??
    soak(wave, facts) ??
    (isOver(wave, facts) ? endWave(wave, facts) : { wait: waitFor(unhealthyWave ?? wave) })
  );
}

/** Waits until a verified wave has soaked. Gateways that appear in the meantime get the release. */
export function waitForSoak(facts: Facts): Next<'Progressing'> {
  const { wave, state } = facts;
  if (!wave || !isSoaking(wave, facts)) return { to: 'Progressing', state };
  return releaseMore(wave, facts) ?? { wait: { kind: 'soak' } };
}

function soak(wave: WaveFacts, facts: Facts): Move<'Soaking'> | undefined {
  const { state, rollout, input } = facts;
  const { soakStartedAt = iso(input.now) } = rollout;
  return isSoaking(wave, facts) ? { to: 'Soaking', state: change(state, { soakStartedAt }) } : undefined;
}

function isSoaking({ index, isHealthy, isAllReleased }: WaveFacts, { rollout, input }: Facts): boolean {
  const { soakStartedAt } = rollout;
  const since = soakStartedAt === undefined ? input.now : Date.parse(soakStartedAt);
  return isHealthy && isAllReleased && input.now - since < (input.soakMs[index] ?? 0);
}

/**
 * Returns what the next gateways of the current wave need: an approval and a window before the wave begins, unless it
 * can be skipped, and a window in the wave when none of its gateways is in progress.
 */
function gateOf(facts: Facts): 'approval' | 'window' | undefined {
  const { rollout, input, wave, unhealthyWave, released, changesNothing } = facts;
  if (!wave || changesNothing) return undefined;
  if (!rollout.waveStartedAt) return wave.canBeSkipped ? undefined : waitBefore(wave.index, rollout, facts);
  const { pending, isDone } = wave;
  const isStuck = pending.length > 0 ? !pending.some((gateway) => released.has(gateway)) : isDone;
  const needsWindow = isStuck && !isSoaking(wave, facts) && !isEachReleased(wave, facts);
  return needsWindow && !unhealthyWave && !input.window.isOpen ? 'window' : undefined;
}

/** Whether all members, even paused ones, may have the release. Those that join the wave later get it at once. */
function isEachReleased({ index, members }: WaveFacts, { rollout }: Facts): boolean {
  const { admitted = '' } = rollout.admission[index] ?? {};
  return members.every(({ key }) => isWithin(key, admitted));
}

/** The gateways of a wave that it waits for, or the wait for one that can verify the release. */
const waitFor = ({ index, counted }: WaveFacts): Wait => ({
  kind: counted.length > 0 ? 'gateways' : 'noGateway',
  index,
});

/** Begins a wave that has gateways which count. As many must be healthy in the end, if they still exist. */
function beginWave(
  { index, counted, unready }: WaveFacts,
  { state, rollout, input }: Facts,
): Move<'Progressing'> | undefined {
  if (rollout.waveStartedAt || counted.length === 0) return undefined;
  const gateways = counted.length - unready.length;
  const admission = gateways > 0 ? withEntry(rollout.admission, index, { gateways }) : rollout.admission;
  return { to: 'Progressing', state: change(state, { admission, waveStartedAt: iso(input.now) }) };
}

const withEntry = (admission: Admission, index: number, changes: Partial<Admission[number]>): Admission =>
  admission.map((entry, at) => (at === index ? { ...entry, ...changes } : entry));

/** Lets as many gateways have the release as can be in progress. */
function releaseMore(wave: WaveFacts, facts: Facts): Move<'Progressing'> | undefined {
  const { state, rollout, input, unhealthyWave } = facts;
  const { admitted: before } = rollout.admission[wave.index] ?? {};
  if (unhealthyWave || !input.window.isOpen || before === ALL || wave.counted.length === 0) return undefined;
  const { admitted } = slotsOf(wave, facts);
  if (admitted === before) return undefined;
  const admission = withEntry(rollout.admission, wave.index, { admitted });
  return { to: 'Progressing', state: change(state, { admission, admittedAt: iso(input.now) }) };
}

/** Selects new gateways for a percentage wave that lost all of its own before the next ones got the release. */
function refill({ index, counted }: WaveFacts, { state, rollout, input }: Facts): Move<'Progressing'> | undefined {
  if (counted.length > 0) return undefined;
  const { spec, gateways, now } = input;
  const amount = spec.waves?.[index]?.gateways;
  const isLate = isEmptyForLong(rollout, input);
  const admission = chooseAgain(rollout.admission, index, { amount, gateways, isLate });
  if (admission[index]?.members === rollout.admission[index]?.members) return undefined;
  const { wave } = rollout.admission[index] ?? {};
  // A wave that had ended is verified again.
  const { waveStartedAt } = wave === rollout.wave ? rollout : { waveStartedAt: iso(now) };
  return { to: 'Progressing', state: change(state, { admission, wave, waveStartedAt }) };
}

/** Whether a wave has waited for gateways that count for the whole deadline. */
export const isEmptyForLong = (
  { waitsFor, waitsSince }: Facts['rollout'],
  { now, deadlineMs }: Pick<Facts['input'], 'now' | 'deadlineMs'>,
): boolean => waitsFor === 'Gateways' && waitsSince !== undefined && now >= Date.parse(waitsSince) + deadlineMs;

/** Whether a wave can end: its gateways are verified and have soaked, or it has none that count. */
function isOver(wave: WaveFacts, facts: Facts): boolean {
  if (facts.unhealthyWave) return false;
  return wave.awaited.length === 0 ? canEndEmpty(wave, facts) : wave.isDone && isEachReleased(wave, facts);
}

/**
 * Whether a wave has unchanged gateways, and for the whole deadline no other one that it can wait for. Those that the
 * release changed are gone, paused, weren't ready before, or are no longer changed.
 */
const hasLostChanges = ({ awaited, members }: WaveFacts, { rollout, input, unchanged }: Facts): boolean =>
  awaited.length === 0 && members.some((gateway) => unchanged.has(gateway)) && isEmptyForLong(rollout, input);

/**
 * Whether a wave without gateways to wait for can end. One that never had any can, unless it is new and they may be
 * starting, or no gateway is left although some existed. The last one that had any can, if it hasn't begun and was empty
 * for the whole deadline, and gateways of other waves are verified. Other waves wait: later ones must not get an
 * unverified release.
 */
function canEndEmpty(wave: WaveFacts, facts: Facts): boolean {
  const { rollout, input, counted, unchanged, verified } = facts;
  const { admission, startedAt, waveStartedAt } = rollout;
  const { index } = wave;
  const entry = admission[index];
  if (hasLostChanges(wave, facts)) return true;
  if (waveStartedAt) return false;
  if (hadGateways(entry)) {
    const isLast = !admission.slice(index + 1).some(hadGateways);
    return isLast && verified.size > 0 && isEmptyForLong(rollout, input);
  }
  const isAwaited = entry?.gateways === 0 && input.now < Date.parse(startedAt) + input.deadlineMs;
  return !isAwaited && (counted.length + unchanged.size > 0 || !admission.some(hadGateways));
}

/** Continues with the next wave, or completes the rollout. Gateways that join this wave later get its release. */
function endWave(wave: WaveFacts, facts: Facts): Move<'Progressing' | 'Complete'> {
  const { state, input, unchanged } = facts;
  const { admission } = state.rollout;
  const isUnverified = wave.awaited.length === 0;
  const isUnchanged = isUnverified && wave.members.some((gateway) => unchanged.has(gateway));
  const ended = admission.map((entry, at) => {
    if (at !== wave.index) return entry;
    // If no gateway counts, the wave requires no verified one from now on.
    const { gateways, ...others } = entry;
    return { ...(isUnverified ? others : entry), admitted: ALL, ...(isUnchanged && { isUnchanged }) };
  });
  if (wave !== facts.wave)
    return { to: 'Progressing', state: change(state, { admission: ended, waitsFor: undefined }) };
  const next = change(state, {
    admission: ended,
    waveStartedAt: undefined,
    soakStartedAt: undefined,
    waitsFor: undefined,
    wave: admission[wave.index + 1]?.wave,
  });
  return next.rollout.wave === undefined
    ? { to: 'Complete', state: complete(next, input) }
    : { to: 'Progressing', state: next };
}
