import type { HistoryEntry, RolloutPhase, RolloutStatus } from '../../shared/api/rollout.ts';

/** State of rollouts that is kept, as stored in the status. */
export interface RolloutState {
  rollout: RolloutStatus;
  history: HistoryEntry[];
}

/** The same state, as the machine changes it. */
export type Rollout = RolloutStatus & { history: HistoryEntry[] };

/** A state without a phase, which comes from the move. */
export type Draft = Omit<Rollout, 'phase'>;

/** A move of the machine, after which it decides again. */
export interface Move<To extends RolloutPhase = RolloutPhase> {
  to: To;
  /** If omitted, only the phase changes. */
  rollout?: Draft;
}
