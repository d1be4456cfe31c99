import { isDeepStrictEqual } from 'node:util';
import type { Finding } from '../report/reports.ts';
import type { Intent, Verdict } from '../resource/judge-resource.ts';

const REPORTED = {
  unknown: { state: 'Pending', reason: 'Waiting' },
  absent: { state: 'Pending', reason: 'GatewaySyncNotFound' },
  unsettled: { state: 'Pending', reason: 'Waiting' },
  refused: { state: 'Error', reason: 'ProfileInvalid' },
  paused: { state: 'Paused', reason: 'Paused' },
} as const;

/** Returns the report while there is nothing to sync. */
export function idleFinding(verdict: Exclude<Verdict, { kind: 'act' }>): Finding {
  const finding: Finding = { ...REPORTED[verdict.kind], message: verdict.message };
  if ('generation' in verdict) finding.generation = verdict.generation;
  return finding;
}

/** Returns the intent in force: a spec that isn't settled yet keeps the previous one. */
export function intentAfter(verdict: Verdict, before: Intent | undefined): Intent | undefined {
  if (verdict.kind === 'act') return verdict.intent;
  return verdict.kind === 'unsettled' ? before : undefined;
}

/**
 * Checks whether a verdict requires nothing new. A gateway that waits for its wave keeps reporting about the rollout that
 * its release came from.
 */
export function isSameWork(verdict: Verdict, before: Verdict): boolean {
  if (isDeepStrictEqual(verdict, before)) return true;
  if (verdict.kind !== 'act' || before.kind !== 'act' || verdict.intent.rollout !== undefined) return false;
  const { rollout: _, ...intent } = before.intent;
  return isDeepStrictEqual(verdict.intent, intent);
}

/** Effect of a change of the resource on the sync in progress. */
export type Standing =
  | 'valid'
  /** Another commit, repository, or kind of run is specified: the fetch can be aborted, but files can stay. */
  | 'superseded'
  /** The gateway must no longer get the files. */
  | 'withdrawn';

/** Judges a sync in progress. With waves, a sync whose intent is replaced is also withdrawn. */
export function standingOf(intent: Intent, verdict: Verdict): Standing {
  if (verdict.kind !== 'act') return verdict.kind === 'unsettled' || verdict.kind === 'unknown' ? 'valid' : 'withdrawn';
  const next = verdict.intent;
  const isByWaves = intent.revision !== undefined || next.revision !== undefined;
  if (isByWaves) return isDeepStrictEqual(releaseOf(intent), releaseOf(next)) ? 'valid' : 'withdrawn';
  return isDeepStrictEqual(fetchedBy(intent), fetchedBy(next)) ? 'valid' : 'superseded';
}

const releaseOf = ({ repo, commit, revision, profile, verify, submodules }: Intent) => [
  repo,
  commit,
  revision,
  profile,
  verify,
  submodules,
];

/** Other fields are omitted, so that editing them doesn't discard fetched data. */
const fetchedBy = ({ repo, commit, submodules, fetchTimeoutMs, profile }: Intent) => [
  repo,
  commit,
  submodules,
  fetchTimeoutMs,
  profile.dryRun,
];

interface Run {
  intent: Intent;
  ending: AbortController;
  standing: Standing;
}

/** The sync in progress, and whether it was aborted for a change of the resource. */
export class CurrentSync {
  #run: Run | undefined;
  /** Whether the previous sync was superseded: the next one isn't, so a steady stream of commits starves no gateway. */
  #wasSuperseded = false;

  /** Returns the signal that aborts the sync. An abort has no effect once files move. */
  begin(intent: Intent): AbortSignal {
    this.#run = { intent, ending: new AbortController(), standing: 'valid' };
    return this.#run.ending.signal;
  }

  /** Aborts the sync if the verdict supersedes or withdraws it. */
  onVerdict(verdict: Verdict): void {
    if (!this.#run || this.#run.standing === 'withdrawn') return;
    const standing = standingOf(this.#run.intent, verdict);
    if (standing === 'valid' || (standing === 'superseded' && this.#wasSuperseded)) return;
    this.#run.standing = standing;
    this.#run.ending.abort();
  }

  /** Ends the sync, with an error or not, and returns its standing. */
  end(hasFailed: boolean): Standing {
    const standing = this.#run?.standing ?? 'valid';
    this.#run = undefined;
    this.#wasSuperseded = hasFailed && standing === 'superseded';
    return standing;
  }
}
