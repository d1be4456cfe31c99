import type { RolloutPhase, RolloutStatus } from '../../shared/api/rollout.ts';

/** A state without a phase, which comes from the move. */
export type Draft = Omit<RolloutStatus, 'phase'>;

/** A move of the machine, after which it decides again. */
export interface Move<To extends RolloutPhase = RolloutPhase> {
  to: To;
  /** If omitted, only the phase changes. */
  rollout?: Draft;
}
