import { RELEASE_LABELS } from '../../api/names.ts';
import {
  type Approval,
  RELEASE_RESULTS,
  type ReleasePhase,
  type ReleaseResult,
  type SyncRelease,
} from '../../api/sync-release.ts';
import { withoutUndefined } from '../text/objects.ts';
import { releaseName } from './release-name.ts';
import { type CompletedRelease, type Release, releaseOf } from './releases.ts';
import { syncRevision } from './sync-revision.ts';

/** The fields of a SyncRelease that all programs use: its `spec.sync`, of up to 1 MiB, is reduced to the revision. */
export interface StoredRelease extends Release {
  namespace: string;
  /** Its name. */
  release: string;
  /** Name of its GatewaySync; empty if it is named after another one. */
  crName: string;
  number: number;
  /** URL of the repository. */
  repo: string;
  /** The label. */
  result?: ReleaseResult;
  phase?: ReleasePhase;
  /** Absent if there are none. */
  approvals?: readonly Approval[];
  /** Time when all gateways first had it (ms since the epoch); undefined if they never had. */
  completedAt?: number;
}

/** Reduces a SyncRelease to the fields used. */
export function storedReleaseOf({ metadata, spec, approvals = [], status }: SyncRelease): StoredRelease {
  const [source] = spec.sources;
  const { labels = {} } = metadata;
  const crName = labels[RELEASE_LABELS.crName] ?? '';
  return {
    namespace: metadata.namespace,
    release: metadata.name,
    crName: metadata.name === releaseName(crName, spec.number) ? crName : '',
    number: spec.number,
    repo: source?.repo ?? '',
    commit: source?.commit ?? '',
    ref: source?.ref ?? '',
    revision: syncRevision(spec.sync),
    ...withoutUndefined({
      result: RELEASE_RESULTS.find((each) => each === labels[RELEASE_LABELS.result]),
      phase: status?.phase,
      approvals: approvals.length > 0 ? approvals : undefined,
      completedAt: status?.completedAt === undefined ? undefined : Date.parse(status.completedAt),
    }),
  };
}

/** Checks whether all gateways had a release, even if they left it later. */
export const isComplete = ({ result, completedAt }: StoredRelease): boolean =>
  result === 'Complete' || completedAt !== undefined;

/** Sorts releases by their numbers. */
export const newestFirst = <T extends StoredRelease>(releases: readonly T[]): T[] =>
  releases.toSorted((a, b) => b.number - a.number);

/** Returns the releases that were complete, the newest first. */
export const completedIn = (releases: readonly StoredRelease[]): CompletedRelease[] =>
  newestFirst(releases.filter(isComplete)).map((each) => ({
    ...releaseOf(each),
    isRejected: each.result !== 'Complete',
  }));
