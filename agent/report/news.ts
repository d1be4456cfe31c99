import { BOUNDS } from '../../shared/api/bounds.ts';
import type { ReloadProblem } from '../gateway/gateway.ts';
import type { SyncResult } from '../metrics.ts';
import { type Drift, MAX_REPAIRS } from '../plan/drift.ts';
import type { Plan } from '../plan/plan-changes.ts';
import { countDrift, countFiles, describeChanges, type FileCounts } from '../plan/summarize-plan.ts';
import type { Intent } from '../resource/judge-resource.ts';
import { describeFailure } from './describe-failure.ts';
import type { Finding } from './reports.ts';

/** What a sync came to: the files are as they must be, or (dry run) it is known what would be done. */
export interface SyncOutcome {
  kind: 'synced' | 'planned';
  plan: Plan;
  /** Who wrote the commit, where something was changed for it and git could say. */
  author?: string | undefined;
}

/** What happened to an agent; times in milliseconds. */
export type Happening =
  /** There is nothing to sync, and why. */
  | { kind: 'idle'; finding: Finding }
  /** A sync ended well, even if the gateway could not be notified (`problem`). */
  | { kind: 'done'; intent: Intent; outcome: SyncOutcome; durationMs: number; problem: ReloadProblem | undefined }
  | { kind: 'failed'; intent: Intent; error: unknown; durationMs: number };

/** What the last reports said. */
export interface Said {
  /** Tells one finding from another. */
  key: string;
  /** What changed without the gateway being notified yet: the report goes on saying so when it was. */
  untold: Figures | undefined;
  /** Files that differ from what was delivered and are left so, by the last look at all of them. */
  drift: Drift[];
}

export const NOTHING_SAID: Said = { key: '', untold: undefined, drift: [] };

type Figures = Required<Pick<Finding, 'files' | 'durationMs'>>;

/** What there is to say of a happening. */
export interface News {
  said: Said;
  /** Undefined where the last report says the same. */
  report: Finding | undefined;
  /** Undefined where it is not worth a line. */
  log: { level: 'debug' | 'info' | 'warn'; message: string; fields: object } | undefined;
  figures: {
    sync?: { result: SyncResult; seconds: number };
    inLine?: { files: FileCounts; repaired: number; drifted: number };
    /** In seconds; 0 where the files are left as they are. */
    syncPeriod?: number;
  };
}

/** Compares what happened with what was said before. */
export function news(before: Said, happening: Happening): News {
  if (happening.kind === 'idle') {
    const { finding } = happening;
    const figures = finding.state === 'Paused' ? { syncPeriod: 0 } : {};
    return { ...judge(before, finding, before), log: undefined, figures };
  }
  return happening.kind === 'done' ? newsOfSync(before, happening) : newsOfFailure(before, happening);
}

type Of<K extends Happening['kind']> = Extract<Happening, { kind: K }>;

/** A check that found nothing to do is no news, and no sync to be counted. */
function newsOfSync(before: Said, { intent, outcome, durationMs, problem }: Of<'done'>): News {
  const { kind, plan, author } = outcome;
  const files = countFiles(plan);
  const isNew = kind === 'synced' && plan.changes.length > 0;
  const figures = isNew ? { files, durationMs } : (before.untold ?? { files, durationMs });
  const drift = plan.isPartial ? before.drift : plan.drift.filter(({ isRepaired }) => !isRepaired);
  const finding = kind === 'planned' ? plannedFinding(intent, plan) : syncedFinding(intent, { problem, drift });
  const untold = problem ? figures : undefined;
  const { said, report } = judge(before, { ...finding, ...figures }, { intent, isNew, untold, drift });
  const result: SyncResult = kind === 'planned' ? 'dry_run' : 'success';
  return {
    said,
    report,
    log: {
      level: report ? 'info' : 'debug',
      message: 'sync finished',
      fields: { ...fieldsOf(intent), author, files, durationMs, result: kind },
    },
    figures: {
      ...(report && { sync: { result, seconds: durationMs / 1000 } }),
      ...(kind === 'synced' && { inLine: { files, repaired: countDrift(plan), drifted: drift.length } }),
      syncPeriod: checkPeriod(intent),
    },
  };
}

function newsOfFailure(before: Said, { intent, error, durationMs }: Of<'failed'>): News {
  const { message, code, isWaiting } = describeFailure(error);
  const fields = { ...fieldsOf(intent), durationMs, code, err: error };
  const state = isWaiting ? 'Pending' : 'Error';
  const judged = judge(before, { state, message }, { ...before, intent });
  if (isWaiting) {
    const log = { level: 'info' as const, message: 'sync held back', fields: { ...fields, result: 'waiting' } };
    return { ...judged, log, figures: { syncPeriod: 0 } };
  }
  return {
    ...judged,
    log: { level: 'warn', message: 'sync failed', fields: { ...fields, result: 'error' } },
    figures: { sync: { result: 'error', seconds: durationMs / 1000 }, syncPeriod: checkPeriod(intent) },
  };
}

/** A dry run looks at the files, and leaves them as they are. */
const checkPeriod = ({ profile }: Intent): number => (profile.dryRun ? 0 : profile.syncPeriod);

interface Circumstances {
  intent?: Intent;
  /** Whether it has to be said, also where the words are the same. */
  isNew?: boolean;
  untold: Figures | undefined;
  drift: Drift[];
}

/** Leaves out what was said last; how long it took and how many files are right make no difference. */
function judge(before: Said, finding: Finding, { intent, isNew = false, untold, drift }: Circumstances) {
  const { state, message, changes, generation = intent?.generation } = finding;
  const key = JSON.stringify([state, message, changes, generation, intent]);
  const isSaid = key === before.key && !isNew;
  const report = isSaid ? undefined : { ...finding, ...(generation !== undefined && { generation }) };
  return { said: { key, untold, drift }, report };
}

/** What a log line says of an intent. */
export const fieldsOf = ({ ref, commit, profile }: Intent) => ({ ref, commit, profile: profile.name });

interface Remains {
  problem: ReloadProblem | undefined;
  drift: Drift[];
}

/** All files are in place, but for those that somebody else changed and that are left so. */
function syncedFinding({ commit, ref, profile }: Intent, { problem, drift }: Remains): Finding {
  const differing = drift.length > 0 ? driftFinding(drift, profile.drift) : undefined;
  if (!problem) return { state: 'Synced', ...differing };
  const message = `the files of commit ${commit} (${ref}) are in place, and the gateway is still to be told: ${problem.message}`;
  const all = differing ? `${message}; ${differing.message}` : message;
  return { ...differing, state: problem.isWaiting ? 'Pending' : 'Error', message: all };
}

function driftFinding(
  drift: Drift[],
  policy: Intent['profile']['drift'],
): Pick<Finding, 'message' | 'changes'> & object {
  const names = drift
    .slice(0, 5)
    .map(({ path }) => path)
    .join(', ');
  const more = drift.length > 5 ? ` and ${drift.length - 5} more` : '';
  const message =
    policy === 'report'
      ? `${drift.length} files differ from what was delivered (drift: report): ${names}${more}`
      : `the gateway rewrites ${names}${more}: repaired ${MAX_REPAIRS} times in a row, and left as it is until the commit or the spec changes`;
  const changes = drift.slice(0, BOUNDS.changes).map(({ path, reason }) => `differs ${path} (${reason})`.slice(-1024));
  return { message, changes };
}

function plannedFinding({ commit, ref }: Intent, plan: Plan): Finding {
  const message = `dry run: ${plan.changes.length} changes would bring commit ${commit} (${ref}) in place`;
  return { state: 'DryRun', message, changes: describeChanges(plan, BOUNDS.changes) };
}
