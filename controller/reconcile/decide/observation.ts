import type { Problem } from '../../../shared/api/reasons.ts';
import type { PostState } from '../../commit-status/next-post.ts';
import type { Intents } from '../../intent/intents.ts';
import type { PendingQuery, QueryResult } from '../../polling/query-result.ts';
import type { ObservedGatewaySync } from '../../watch/observed-gateway-sync.ts';
import type { ObservedPod } from '../../watch/observed-pod.ts';
import type { ObservedRelease } from '../../watch/observed-release.ts';
import type { ObservedReport } from '../../watch/observed-report.ts';

/** Complete input of a decision. */
export interface Observation {
  /** Name of the cluster; empty if unknown. */
  cluster: string;
  /** Whether pods get the sidecar only in namespaces with the label. */
  isLabelRequired: boolean;
  gatewaySync: ObservedGatewaySync;
  intents: Intents;
  /** State of the query of the repository; undefined while the resource is paused. */
  query: QueryResult | PendingQuery | undefined;
  /** Injected pods of the resource, in any phase. */
  pods: ObservedPod[];
  /** Pods that request the sidecar and have none. */
  missing: ObservedPod[];
  /** The first workloads that want pods of the resource, and can't create them, if it has no gateway. */
  unmade: string[];
  /** Returns the report of exactly this pod. */
  reportOf: (pod: ObservedPod) => ObservedReport | undefined;
  /** Why agents don't have the permissions or the token that they need. */
  accessProblems: Problem[];
  /** Stored releases of the resource. No rollout begins with a release that isn't stored. */
  releases: readonly ObservedRelease[];
  /** Whether the event about the phase in the status is stored. */
  isAnnounced?: boolean;
  /** State of the commit status. */
  commitStatus: PostState | undefined;
}

/** The part on which a rollout depends. */
export type RolloutObservation = Pick<Observation, 'gatewaySync' | 'pods' | 'reportOf' | 'releases'>;
