import type { StatusNews } from '../commit-status/next-post.ts';
import type { Intents } from '../intent/intents.ts';
import type { PendingQuery, QueryResult } from '../intent/resolution.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import type { ObservedPod } from '../watch/observed-pod.ts';
import type { ObservedReport } from '../watch/observed-report.ts';
import type { AccessProblem } from './conditions.ts';

/** A pod that admission denied a short time ago. */
export interface RecentDenial {
  message: string;
  /** Time until it no longer counts (ms). */
  expiresInMs: number;
}

/** How the operator was installed, as far as decisions depend on it. */
export interface Installation {
  /** Name of the cluster; empty if unknown. */
  cluster: string;
  /** Whether a policy checks which user an annotation names, so that it can be believed. */
  areAuthorsChecked: boolean;
  /** Whether pods get the sidecar only in namespaces with the label. */
  isLabelRequired: boolean;
}

/** Everything that a decision is made from. */
export interface Observation extends Installation {
  gatewaySync: ObservedGatewaySync;
  intents: Intents;
  /** The state of the query of the repository; undefined while the resource is paused. */
  query: QueryResult | PendingQuery | undefined;
  /** Injected pods of the resource, in any phase. */
  pods: ObservedPod[];
  /** Pods that ask for the sidecar and have none. */
  missing: ObservedPod[];
  /** Names of the first pods that name the resource, but do not ask for the sidecar. */
  unasked: string[];
  /** The latest pod of the resource that admission denied, if that was recent. */
  denied: RecentDenial | undefined;
  /** The report of this very pod. */
  reportOf: (pod: ObservedPod) => ObservedReport | undefined;
  /** Why agents do not get the rights or the token that they need. */
  accessProblems: AccessProblem[];
  /** Whether the revision of `spec.sync` is kept as an object, where there are rollouts: before that none may name it. */
  isRevisionKept: boolean;
  /** Earlier revisions that gateways report and that are stored, if the status names no rollout. */
  storedRevisions?: readonly string[];
  /** What is known of the commit status. */
  commitStatus: StatusNews | undefined;
}

/** The part that a rollout is taken on from. */
export type RolloutObservation = Pick<
  Observation,
  'gatewaySync' | 'pods' | 'reportOf' | 'isRevisionKept' | 'storedRevisions'
>;
