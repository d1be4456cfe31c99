import { waitBefore } from '../approval.ts';
import type { Facts, Next } from '../facts.ts';

/** The phases in which the next gateways wait for an approval or a window. */
export const PHASE_OF_GATE = { approval: 'AwaitingApproval', window: 'AwaitingWindow' } as const;
type Gate = keyof typeof PHASE_OF_GATE;
export type Awaiting = (typeof PHASE_OF_GATE)[Gate];

/** Waits for the approval or the window that the next gateways of a rollout need. */
export function waitForGate(facts: Facts): Next<Awaiting | 'Progressing'> {
  const gate = gateOf(facts);
  if (!gate) return { to: 'Progressing' };
  const to = PHASE_OF_GATE[gate];
  return to === facts.rollout.phase ? { wait: { kind: gate } } : { to };
}

/**
 * Returns what the next gateways of the current wave need: an approval and a window before the wave begins, unless it
 * can be skipped, and the same for further gateways of the wave when none is in progress.
 */
export function gateOf(facts: Facts): Gate | undefined {
  const { rollout, wave, unhealthyWave, released, changesNothing } = facts;
  if (!wave || changesNothing) return undefined;
  if (!rollout.waveStartedAt) return wave.canBeSkipped ? undefined : waitBefore(wave.index, rollout, facts);
  const { pending, isDone, mustSoak, isEachReleased } = wave;
  const isStuck = pending.length > 0 ? !pending.some((gateway) => released.has(gateway)) : isDone;
  const mustAsk = isStuck && !mustSoak && !isEachReleased && !unhealthyWave;
  return mustAsk ? waitBefore(wave.index, rollout, facts) : undefined;
}
