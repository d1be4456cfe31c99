import type { RolloutSpec } from '../../shared/api/rollout.ts';
import type { GatewayPreview } from '../../shared/api/sync-report.ts';
import type {
  CompletedRelease,
  Release,
  ReleaseContent,
  ReportedRelease,
} from '../../shared/domain/rollout/releases.ts';
import type { StoredRelease } from '../../shared/domain/rollout/stored-release.ts';
import type { ObservedPod } from '../watch/observed-pod.ts';
import type { WindowJudgement } from './windows.ts';

/** A gateway in a rollout, made from its pod. */
export interface RolloutGateway
  extends Pick<ObservedPod, 'name' | 'notReadySince' | 'readySince' | 'runsSince' | 'crashedAt' | 'restartedAt'> {
  /** In milliseconds since the epoch, like the other times. */
  createdAt: number;
  /** Not all of its containers have run yet (no node, image, or Secret), so it can't be verified. */
  isUnstarted?: boolean;
  /** See `rolloutKey`. */
  key: string;
  /** Whether its labels match, for each wave. */
  fits: readonly boolean[];
  /** Paused, in a dry run, or a standby: it neither passes nor fails. */
  isPaused: boolean;
  /** Problem reported by its agent and its pod; undefined if there is none. */
  problem?: string | undefined;
  /** Report of its agent; undefined if there is none. */
  report: GatewayReport | undefined;
  /** Last preview that it reports. */
  preview?: ReportedPreview | undefined;
}

/** Change that a release would make to a gateway, without applying it. */
export interface ReportedPreview extends ReleaseContent, Pick<GatewayPreview, 'digest' | 'failure' | 'everyCommit'> {
  /** It leaves all files unchanged. */
  changesNothing: boolean;
  /** Number of files that change. */
  files: number;
}

/** Release on a gateway's disk, and its state. */
export interface GatewayReport extends ReportedRelease {
  /** Number of the rollout that it belongs to. */
  rollout: number | undefined;
  state: 'healthy' | 'failed' | 'busy';
}

export interface RolloutInput {
  spec: RolloutSpec;
  /** Hash of the waves. */
  wavesHash: string;
  gateways: readonly RolloutGateway[];
  /** The newest release; undefined if there is none. */
  newest: Release | undefined;
  /** Release that the gateways have followed, if nothing was rolled out yet. */
  delivered: Release | undefined;
  /** Releases that were complete, newest first. */
  completed: readonly CompletedRelease[];
  /** The newest release with the label Complete, and those with the label Rejected, newest first; for the first state. */
  lastComplete?: Release | undefined;
  rejected?: readonly Release[];
  /** Releases with the approvals in their SyncReleases. */
  approved?: readonly Pick<StoredRelease, 'release' | 'commit' | 'revision' | 'approvals'>[];
  /** Values of the order annotations. Each takes effect once, until the annotation is removed or changed. */
  rollback: string | undefined;
  retry: string | undefined;
  window: WindowJudgement;
  /** `progressDeadline` (ms). */
  deadlineMs: number;
  /** Time to wait for previews (ms); 0 for none. */
  previewMs: number;
  /** Time in which one preview begins on average (ms). */
  previewIntervalMs: number;
  /** `soak` of each wave (ms). */
  soakMs: readonly number[];
  now: number;
}
