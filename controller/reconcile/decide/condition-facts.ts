import type { GatewayCounts } from '../../../shared/api/gateway-sync-status.ts';
import type { RolloutStatus } from '../../../shared/api/rollout.ts';
import type { PostState } from '../../commit-status/next-post.ts';
import type { Hub } from '../../intent/hub.ts';
import type { Resolution } from '../../intent/resolution.ts';
import type { ObservedGatewaySync } from '../../watch/observed-gateway-sync.ts';
import type { AccessProblem } from './observation.ts';

/** Input of all conditions. */
export interface Facts {
  gatewaySync: ObservedGatewaySync;
  resolution: Resolution;
  hub: Hub | undefined;
  counts: GatewayCounts;
  /** Problems of the profiles, one sentence each. */
  profileProblems: string[];
  /** Problems of `spec.rollout`, one sentence each. */
  rolloutProblems: string[];
  /** Messages of the first gateways in the state `Error`. */
  gatewayErrors: string[];
  /** First gateways with a wrong clock, except for those in the state `Error`, whose messages include it. */
  wrongClocks: string[];
  /** First pods that don't start, with the cause. */
  podsThatWait: string[];
  /** The first workloads that want pods of the resource, and can't create them. */
  unmade: string[];
  accessProblems: AccessProblem[];
  /** Whether pods get the sidecar only in namespaces with the label. */
  isLabelRequired: boolean;
  commitStatusProblem: PostState['problem'];
  rollout: RolloutStatus | undefined;
  /** Whether the wanted release isn't part of a rollout yet. */
  isHeldBack: boolean;
}
