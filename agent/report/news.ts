import { BOUNDS } from '../../shared/api/bounds.ts';
import type { ReloadProblem } from '../gateway/gateway.ts';
import type { Verification } from '../gateway/verification.ts';
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
  /** Attributes of mapped files in `.gitattributes` that have no effect, by the file's path in the repository. */
  ignored?: ReadonlyMap<string, string>;
  /** Mapped files that look like pointers of Git LFS and were delivered as they are, by their paths in the repository. */
  pointers?: string[];
  /** Why the volume's lock doesn't keep other agents off; left out if it does. */
  lockWeakness?: string | undefined;
  /** All files were right already, and the clone still lacks the commit. */
  isWithoutGit?: boolean;
  /** Who wrote the commit, where something was changed for it and git could say. */
  author?: string | undefined;
}

/** What a happening is about, and how well the gateway is with it where that is known. */
interface About {
  intent: Intent;
  verification?: Verification | undefined;
}

/** Of what is idle there is nothing of the kind. */
type PerhapsAbout = { [K in keyof About]?: About[K] | undefined };

/** What happened to an agent; times in milliseconds. */
export type Happening =
  /** There is nothing to sync, and why. */
  | { kind: 'idle'; finding: Finding }
  /** A sync ended well, even if the gateway could not be notified (`problem`). */
  | ({ kind: 'done'; outcome: SyncOutcome; durationMs: number; problem: ReloadProblem | undefined } & About)
  | ({ kind: 'failed'; error: unknown; durationMs: number } & About)
  /** More is known of the gateway since then. */
  | ({ kind: 'looked' } & About);

/** What the last reports said. */
export interface Said {
  /** Tells one finding from another. */
  key: string;
  /** How well the gateway is, as text. */
  verification: string | undefined;
  /** What the last report said of the files. */
  finding: Finding | undefined;
  /** What changed without the gateway being notified yet: the report goes on saying so when it was. */
  untold: Figures | undefined;
  /** Files that differ from what was delivered and are left so, by the last look at all of them. */
  drift: Drift[];
}

export const NOTHING_SAID: Said = {
  key: '',
  verification: undefined,
  finding: undefined,
  untold: undefined,
  drift: [],
};

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
    const { untold, drift } = before;
    const { said, report } = judge(before, finding, { untold, drift });
    return { said, report, log: undefined, figures };
  }
  if (happening.kind === 'looked') return { ...judgeLooks(before, happening), log: undefined, figures: {} };
  return happening.kind === 'done' ? newsOfSync(before, happening) : newsOfFailure(before, happening);
}

type Of<K extends Happening['kind']> = Extract<Happening, { kind: K }>;

/** A check that found nothing to do is no news, and no sync to be counted. */
function newsOfSync(before: Said, { intent, verification, outcome, durationMs, problem }: Of<'done'>): News {
  const { kind, plan, ignored = new Map(), pointers = [], lockWeakness, author } = outcome;
  const files = countFiles(plan);
  const isNew = kind === 'synced' && plan.changes.length > 0;
  const figures = isNew ? { files, durationMs } : (before.untold ?? { files, durationMs });
  const drift = plan.isPartial ? before.drift : plan.drift.filter(({ isRepaired }) => !isRepaired);
  const remains = { problem, drift, ignored, pointers, lockWeakness };
  const finding = kind === 'planned' ? plannedFinding(intent, plan, ignored) : syncedFinding(intent, remains);
  const untold = problem ? figures : undefined;
  const circumstances = { intent, verification, isNew, untold, drift };
  const { isNews, said, report } = judge(before, { ...finding, ...figures }, circumstances);
  const result: SyncResult = kind === 'planned' ? 'dry_run' : 'success';
  return {
    said,
    report,
    log: {
      level: isNews ? 'info' : 'debug',
      message: 'sync finished',
      fields: { ...fieldsOf(intent), author, files, durationMs, result: kind },
    },
    figures: {
      ...(isNews && { sync: { result, seconds: durationMs / 1000 } }),
      ...(kind === 'synced' && { inLine: { files, repaired: countDrift(plan), drifted: drift.length } }),
      syncPeriod: checkPeriod(intent),
    },
  };
}

function newsOfFailure(before: Said, { intent, verification, error, durationMs }: Of<'failed'>): News {
  const { message, code, isWaiting, isFinal } = describeFailure(error);
  const fields = { ...fieldsOf(intent), durationMs, code, err: error };
  const state = isWaiting ? 'Pending' : 'Error';
  const hasFailed = isFinal && intent.rollout !== undefined;
  const finding: Finding = { state, message, ...(hasFailed && { hasFailed }) };
  const { untold, drift } = before;
  const { said, report } = judge(before, finding, { intent, verification, untold, drift });
  if (isWaiting) {
    const log = { level: 'info' as const, message: 'sync held back', fields: { ...fields, result: 'waiting' } };
    return { said, report, log, figures: { syncPeriod: 0 } };
  }
  return {
    said,
    report,
    log: { level: 'warn', message: 'sync failed', fields: { ...fields, result: 'error' } },
    figures: { sync: { result: 'error', seconds: durationMs / 1000 }, syncPeriod: checkPeriod(intent) },
  };
}

/** A dry run looks at the files, and leaves them as they are. */
const checkPeriod = ({ profile }: Intent): number => (profile.dryRun ? 0 : profile.syncPeriod);

interface Circumstances extends PerhapsAbout {
  /** Whether it has to be said, also where the words are the same. */
  isNew?: boolean;
  untold: Figures | undefined;
  drift: Drift[];
}

/** Leaves out what was said last; how long it took and how many files are right make no difference. */
function judge(before: Said, finding: Finding, { intent, verification, isNew = false, untold, drift }: Circumstances) {
  const { state, message, changes, generation = intent?.generation } = finding;
  const key = JSON.stringify([state, message, changes, generation, intent]);
  const isNews = key !== before.key || isNew;
  const rollout = intent?.rollout;
  const about = { ...(generation !== undefined && { generation }), ...(rollout !== undefined && { rollout }) };
  const latest: Said = { ...before, key, untold, drift, finding: isNews ? { ...finding, ...about } : before.finding };
  return { isNews, ...judgeLooks(latest, { intent, verification }, isNews) };
}

/** What the last report said of the files, with what is known of the gateway by now. */
function judgeLooks(
  before: Said,
  { intent, verification }: PerhapsAbout,
  isNews = false,
): Pick<News, 'said' | 'report'> {
  const { finding } = before;
  const said = { ...before, verification: JSON.stringify(verification) };
  if (!isNews && said.verification === before.verification) return { said, report: undefined };
  if (!finding || !intent || !verification) return { said, report: finding };
  const message = [finding.message, describeLooks(intent, verification)].filter(Boolean).join('; ');
  return { said, report: { ...finding, verification: verification.state, ...(message && { message }) } };
}

function describeLooks({ commit, ref }: Intent, { state, words }: Verification): string | undefined {
  if (!words) return undefined;
  if (state === 'Failed') return `the gateway is not well with commit ${commit} (${ref}): ${words}`;
  return `the gateway is being verified with commit ${commit} (${ref}), and a look went wrong: ${words}`;
}

/** What a log line says of an intent. */
export const fieldsOf = ({ ref, commit, profile }: Intent) => ({ ref, commit, profile: profile.name });

interface Remains {
  problem: ReloadProblem | undefined;
  drift: Drift[];
  ignored: ReadonlyMap<string, string>;
  pointers: string[];
  lockWeakness: string | undefined;
}

/** All files are in place, but for those that somebody else changed and that are left so. */
function syncedFinding(
  { commit, ref, profile }: Intent,
  { problem, drift, ignored, pointers, lockWeakness }: Remains,
): Finding {
  const differing = drift.length > 0 ? driftFinding(drift, profile.drift) : undefined;
  const untold = `the files of commit ${commit} (${ref}) are in place, and the gateway is still to be told: ${problem?.message}`;
  const content = [ignoredAttributes(ignored), plainPointers(pointers), lockWeakness && notLocked(lockWeakness)];
  const said = [problem && untold, differing?.message, ...content].filter(Boolean);
  const message = said.length > 0 ? { message: said.join('; ') } : {};
  const state = problem ? (problem.isWaiting ? 'Pending' : 'Error') : 'Synced';
  return { ...differing, state, ...message };
}

function driftFinding(
  drift: Drift[],
  policy: Intent['profile']['drift'],
): Pick<Finding, 'message' | 'changes'> & object {
  const names = firstOf(drift.map(({ path }) => path));
  const message =
    policy === 'report'
      ? `${drift.length} files differ from what was delivered (drift: report): ${names}`
      : `the gateway rewrites ${names}: repaired ${MAX_REPAIRS} times in a row, and left as it is until the commit or the spec changes`;
  const changes = drift.slice(0, BOUNDS.changes).map(({ path, reason }) => `differs ${path} (${reason})`.slice(-1024));
  return { message, changes };
}

const notLocked = (reason: string): string =>
  `the data volume has no lock (${reason}): make sure that no other pod syncs to it`;

/** Names mapped files whose attributes have no effect, the first of them. */
function ignoredAttributes(ignored: ReadonlyMap<string, string>): string | undefined {
  if (ignored.size === 0) return undefined;
  const files = [...ignored].map(([file, attributes]) => `${file} (${attributes})`);
  return `.gitattributes has no effect, so these files may differ from a checkout: ${firstOf(files)}`;
}

/** In a repository whose .gitattributes were lost, these are not what the gateway needs. */
function plainPointers(pointers: string[]): string | undefined {
  if (pointers.length === 0) return undefined;
  return `delivered as they are, because no .gitattributes says filter=lfs, though they look like pointers of Git LFS: ${firstOf(pointers)}`;
}

function firstOf(names: string[]): string {
  const more = names.length > 5 ? ` and ${names.length - 5} more` : '';
  return `${names.slice(0, 5).join(', ')}${more}`;
}

function plannedFinding({ commit, ref }: Intent, plan: Plan, ignored: ReadonlyMap<string, string>): Finding {
  const planned = `dry run: ${plan.changes.length} changes would bring commit ${commit} (${ref}) in place`;
  const message = [planned, ignoredAttributes(ignored)].filter(Boolean).join('; ');
  return { state: 'DryRun', message, changes: describeChanges(plan, BOUNDS.changes) };
}
