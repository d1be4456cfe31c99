import { ALL } from '../../../shared/domain/rollout/waves.ts';
import { type Admission, chooseAgain, hadGateways } from '../admission.ts';
import { waitBefore } from '../approval.ts';
import { isEmptyForLong } from '../deadlines.ts';
import type { Facts, Next, Wait, WaveFacts } from '../facts.ts';
import type { Move } from '../moves.ts';
import { slotsOf } from '../slots.ts';
import { complete, iso } from '../transitions.ts';
import { type Awaiting, gateOf, PHASE_OF_GATE } from './awaiting.ts';

/** Lets gateways have the release, wave by wave, and waits until they are verified. */
export function releaseAndVerify(facts: Facts): Next<Awaiting | 'Progressing' | 'Soaking' | 'Complete'> {
  const { rollout, wave, unhealthyWave, input } = facts;
  if (facts.changesNothing) return { to: 'Complete', rollout: complete(rollout, input) };
  if (!wave) return { wait: { kind: 'none' } };
  const gate = gateOf(facts);
  if (gate) return { to: PHASE_OF_GATE[gate] };
  if (unhealthyWave && hasLostChanges(unhealthyWave, facts)) return passOver(unhealthyWave, facts);
  if (!rollout.waveStartedAt) {
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

function soak({ mustSoak }: WaveFacts, { rollout, input }: Facts): Move<'Soaking'> | undefined {
  const { soakStartedAt = iso(input.now) } = rollout;
  return mustSoak ? { to: 'Soaking', rollout: { ...rollout, soakStartedAt } } : undefined;
}

/** What a wave waits for: its gateways, or any gateway that can verify the release. */
const waitFor = (wave: WaveFacts): Wait => ({ kind: wave.counted.length > 0 ? 'gateways' : 'noGateway', wave });

/** Begins a wave that has gateways which count. As many must be healthy in the end, if they still exist. */
function beginWave(wave: WaveFacts, { rollout, input }: Facts): Move<'Progressing'> | undefined {
  const { index, entry, counted, unready } = wave;
  if (rollout.waveStartedAt || counted.length === 0) return undefined;
  const gateways = counted.length - unready.length;
  const admission = gateways > 0 ? rollout.admission.with(index, { ...entry, gateways }) : rollout.admission;
  return { to: 'Progressing', rollout: { ...rollout, admission, waveStartedAt: iso(input.now) } };
}

/** Lets as many gateways have the release as can be in progress. */
export function releaseMore(wave: WaveFacts, facts: Facts): Move<'Progressing'> | undefined {
  const { rollout, input, unhealthyWave } = facts;
  const { admitted: before } = wave.entry;
  if (unhealthyWave || before === ALL || wave.counted.length === 0) return undefined;
  if (waitBefore(wave.index, rollout, facts)) return undefined;
  const { admitted } = slotsOf(wave, facts);
  if (admitted === before) return undefined;
  const admission = rollout.admission.with(wave.index, { ...wave.entry, admitted });
  return { to: 'Progressing', rollout: { ...rollout, admission, admittedAt: iso(input.now) } };
}

/** Selects new gateways for a percentage wave that lost all of its gateways. If it had ended, the rollout returns to it. */
function refill({ index, entry, counted }: WaveFacts, { rollout, input }: Facts): Move<'Progressing'> | undefined {
  if (counted.length > 0) return undefined;
  const { spec, gateways, now } = input;
  const amount = spec.waves?.[index]?.gateways;
  const isLate = isEmptyForLong(rollout, input);
  const admission = chooseAgain(rollout.admission, index, { amount, gateways, isLate });
  if (admission[index]?.members === entry.members) return undefined;
  const { wave } = entry;
  const { waveStartedAt } = wave === rollout.wave ? rollout : { waveStartedAt: iso(now) };
  const needsApproval = spec.waves?.[index]?.approval === true;
  return {
    to: 'Progressing',
    rollout: { ...rollout, admission, wave, waveStartedAt: needsApproval ? undefined : waveStartedAt },
  };
}

/** Whether a wave that has soaked can end: its gateways are verified, or it has none to wait for. */
function isOver(wave: WaveFacts, facts: Facts): boolean {
  if (facts.unhealthyWave) return false;
  return wave.awaited.length === 0 ? canEndEmpty(wave, facts) : wave.isDone && wave.isEachReleased;
}

/**
 * Whether a wave has unchanged gateways, and for the whole deadline no other one that it can wait for. Those that the
 * release changed are gone, paused, weren't ready before, or are no longer changed.
 */
const hasLostChanges = ({ awaited, hasUnchanged }: WaveFacts, { rollout, input }: Facts): boolean =>
  awaited.length === 0 && hasUnchanged && isEmptyForLong(rollout, input);

/**
 * Whether a wave without gateways to wait for can end, and all of its gateways may then have the release. One that
 * never had any can, unless it is new and they may be starting, or no gateway is left although some existed. The last one
 * that had any can, if it hasn't begun and was empty for the whole deadline, and gateways of other waves are verified.
 * Other waves wait: later ones must not get an unverified release.
 */
function canEndEmpty(wave: WaveFacts, facts: Facts): boolean {
  const { rollout, input, counted, unchanged, verified } = facts;
  const { admission, startedAt, waveStartedAt } = rollout;
  if (hasLostChanges(wave, facts)) return wave.isEachReleased || !waitBefore(wave.index, rollout, facts);
  if (waveStartedAt) return false;
  if (wave.hadGateways) {
    const isLast = !admission.slice(wave.index + 1).some(hadGateways);
    return isLast && verified.size > 0 && isEmptyForLong(rollout, input);
  }
  const isAwaited = wave.entry.gateways === 0 && input.now < Date.parse(startedAt) + input.deadlineMs;
  return !isAwaited && (counted.length + unchanged.size > 0 || !admission.some(hadGateways));
}

/** Continues with the next wave, or completes the rollout. Gateways that join this wave later get its release. */
function endWave(wave: WaveFacts, facts: Facts): Move<'Progressing' | 'Complete'> {
  const { input, rollout } = facts;
  const next = {
    ...rollout,
    admission: ended(wave, facts),
    waveStartedAt: undefined,
    soakStartedAt: undefined,
    waitsFor: undefined,
    wave: rollout.admission[wave.index + 1]?.wave,
  };
  return next.wave === undefined
    ? { to: 'Complete', rollout: complete(next, input) }
    : { to: 'Progressing', rollout: next };
}

/** Lets an earlier wave go that lost its changed gateways, so that it no longer holds the current one. */
const passOver = (wave: WaveFacts, facts: Facts): Move<'Progressing'> => ({
  to: 'Progressing',
  rollout: { ...facts.rollout, admission: ended(wave, facts), waitsFor: undefined },
});

/** From now on, all members of a wave may have the release. If none was awaited, it requires no verified one. */
function ended({ index, entry, awaited, hasUnchanged }: WaveFacts, { rollout: { admission } }: Facts): Admission {
  const all = { ...entry, admitted: ALL };
  if (awaited.length > 0) return admission.with(index, all);
  if (hasUnchanged) return admission.with(index, { ...all, isUnchanged: true });
  const { gateways, ...others } = all;
  const isLast = index === admission.length - 1;
  return admission.with(index, isLast && gateways ? all : others);
}
