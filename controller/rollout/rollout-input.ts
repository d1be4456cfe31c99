import type { HistoryEntry, RolloutSpec, RolloutStatus } from '../../shared/api/rollout.ts';
import type { Release } from '../../shared/domain/releases.ts';

/** A gateway as a rollout sees it; times in milliseconds since the epoch. */
export interface RolloutGateway {
  /** Name of its pod. */
  name: string;
  /** See `rolloutKey`. */
  key: string;
  /** Which of the waves it fits by its labels. */
  fits: readonly boolean[];
  createdAt: number;
  /** Undefined where the pod is ready. */
  notReadySince: number | undefined;
  /** Undefined where it is not ready, or nobody knows. */
  readySince?: number | undefined;
  /** When the last of its containers began to run; undefined where none does, or nobody knows. */
  runsSince?: number | undefined;
  /** When one of its containers ended with an error the last time. */
  crashedAt?: number | undefined;
  /** Not all of its containers have run yet, so it shows nothing: no node, no image, no Secret. */
  isUnstarted?: boolean;
  /** It was told to leave its files alone: it counts as neither. */
  isResting: boolean;
  /** Its agent does not know rollouts, and follows the newest commit. */
  isOutdated: boolean;
  /** What is wrong with it, in the words of its agent and of its pod; undefined where neither says anything. */
  says?: string | undefined;
  /** What its agent reports; undefined where it has reported nothing. */
  report: GatewayReport | undefined;
}

/** What is on a gateway's disk, and how that is. */
export interface GatewayReport {
  /** Number of the rollout that it is about. */
  rollout: number | undefined;
  commit: string | undefined;
  revision: string | undefined;
  state: 'well' | 'failed' | 'busy';
}

export interface RolloutInput {
  spec: RolloutSpec;
  /** Hash of the waves. */
  plan: string;
  gateways: readonly RolloutGateway[];
  /** The newest release; undefined while there is none. */
  wanted: Release | undefined;
  /** What the gateways have followed until now, where nothing was rolled out yet. */
  inPlace: Release | undefined;
  /** Revisions that gateways report and that are stored, in addition to the present one; for the first state only. */
  storedRevisions?: readonly string[] | undefined;
  /** The commit that somebody approved, and with which revision; undefined for any, as a version before noted it. */
  approved: string | undefined;
  approvedRevision?: string | undefined;
  /** What the annotations of these orders say: each counts once, until the annotation is gone or says something else. */
  rollback: string | undefined;
  retry: string | undefined;
  window: { isOpen: boolean; message: string; changesAt?: number | undefined };
  /** Commits to keep in the history. */
  historyLength: number;
  /** Milliseconds of `progressDeadline`. */
  deadlineMs: number;
  /** Milliseconds of `soak`, for each wave. */
  soakMs: readonly number[];
  now: number;
}

/** What is kept of rollouts. */
export interface RolloutState {
  rollout: RolloutStatus;
  history: HistoryEntry[];
}

/** Why nothing more happens now. */
export type Wait =
  | { kind: 'none' }
  | { kind: 'window' | 'approval' | 'soak' | 'givenUp' }
  /** Gateways of a wave, or one that it does not have: nobody could show whether all is well. */
  | { kind: 'gateways' | 'nobody'; index: number }
  /** Pods whose agents do not know rollouts. */
  | { kind: 'outdated'; pods: string[] };

/** What a step leads to, and what it waits for then. */
export interface Advanced {
  state: RolloutState;
  wait: Wait;
}
