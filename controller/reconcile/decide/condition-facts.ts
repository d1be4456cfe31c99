import type { GatewayCounts } from '../../../shared/api/gateway-sync-status.ts';
import type { RolloutStatus } from '../../../shared/api/rollout.ts';
import type { PostState } from '../../commit-status/next-post.ts';
import type { Hub } from '../../intent/hub.ts';
import type { Resolution } from '../../intent/resolution.ts';
import type { Observation } from './observation.ts';

/** Input of all conditions. */
export interface Facts extends Pick<Observation, 'gatewaySync' | 'unmade' | 'accessProblems' | 'isLabelRequired'> {
  resolution: Resolution;
  hub: Hub | undefined;
  counts: GatewayCounts;
  /** Problems of `spec.rollout`, one sentence each. */
  rolloutProblems: string[];
  /** Messages of the first gateways in the state `Error`. */
  gatewayErrors: string[];
  /** First gateways with a wrong clock, except for those in the state `Error`, whose messages include it. */
  wrongClocks: string[];
  /** First pods that don't start, with the cause. */
  podsThatWait: string[];
  commitStatusProblem: PostState['problem'];
  rollout: RolloutStatus | undefined;
  /** Whether the wanted release isn't part of a rollout yet. */
  isHeldBack: boolean;
}
