import type { HistoryEntry, RolloutPhase, RolloutStatus } from '../../shared/api/rollout.ts';
import type { WaveFacts } from './facts.ts';

/** State of rollouts that is kept, as stored in the status. */
export interface RolloutState {
  rollout: RolloutStatus;
  history: HistoryEntry[];
}

/** The same state, as the machine changes it. */
export type Rollout = RolloutStatus & { history: HistoryEntry[] };

/** A state without a phase, which comes from the move. */
export type Draft = Omit<Rollout, 'phase'>;

/** Why the machine stays in its phase; `none` if there is nothing more to tell. */
export type Wait =
  | { kind: 'none' }
  | { kind: 'window' | 'approval' | 'soak' | 'givenUp' | 'preview' }
  /** Gateways of a wave, or gateways that it doesn't have and without which the release can't be verified. */
  | { kind: 'gateways' | 'noGateway'; wave: WaveFacts }
  /** Pods whose agents don't support rollouts. */
  | { kind: 'outdated'; pods: string[] };

/** A move of the machine, after which it decides again. */
export interface Move<To extends RolloutPhase = RolloutPhase> {
  to: To;
  /** If omitted, only the phase changes. */
  rollout?: Draft;
}

/** A move, or the reason why the machine stays in its phase. */
export type Next<To extends RolloutPhase = RolloutPhase> = Move<To> | { wait: Wait };
