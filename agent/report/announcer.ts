import { BOUNDS } from '../../shared/api/bounds.ts';
import { messageOf, TerminalError, TransientError, WaitingError } from '../../shared/errors.ts';
import type { Logger } from '../../shared/log.ts';
import type { ReloadProblem } from '../gateway/gateway.ts';
import type { AgentMetrics } from '../metrics.ts';
import type { Plan } from '../plan/plan-changes.ts';
import { countDrift, countFiles, describeChanges, type FileCounts } from '../plan/summarize-plan.ts';
import type { Intent } from '../resource/judge-resource.ts';
import type { Finding } from './reports.ts';

/** What a sync came to: the files are as they must be, or (dry run) it is known what would be done. */
export interface SyncOutcome {
  kind: 'synced' | 'planned';
  plan: Plan;
  /** Who wrote the commit, where something was changed for it. */
  author?: string;
}

/** What a sync came to, and how long it took in milliseconds. */
export interface OutcomeNews {
  outcome: SyncOutcome;
  durationMs: number;
  /** Why the gateway does not know of it yet. */
  problem: ReloadProblem | undefined;
}

export interface AnnouncerOptions {
  report: (finding: Finding) => Promise<void>;
  metrics: AgentMetrics;
  log: Logger;
}

/** Tells the world of transitions: by the report, the metrics and one log line for each sync. */
export class Announcer {
  readonly #options: AnnouncerOptions;
  #said = '';
  /** What changed that the gateway was not told of yet: the report goes on saying so when it was. */
  #untold: { files: FileCounts; durationMs: number } | undefined;

  constructor(options: AnnouncerOptions) {
    this.#options = options;
  }

  /**
   * A sync ended well, be it that the gateway could not be told. A check that found nothing to do is no news, and no
   * sync to be counted.
   */
  async onOutcome(intent: Intent, { outcome, durationMs, problem }: OutcomeNews): Promise<void> {
    const { metrics } = this.#options;
    const { kind, plan } = outcome;
    const files = countFiles(plan);
    const finding = kind === 'planned' ? plannedFinding(intent, plan) : syncedFinding(intent, problem);
    const isNews = kind === 'synced' && plan.changes.length > 0;
    if (kind === 'synced') {
      metrics.onFiles(files, countDrift(plan));
      metrics.onInLine();
    }
    const figures = isNews ? { files, durationMs } : (this.#untold ?? { files, durationMs });
    this.#untold = problem ? figures : undefined;
    const wasSaid = await this.say({ ...finding, ...figures }, { intent, isNews });
    if (wasSaid) metrics.onSync(kind === 'planned' ? 'dry_run' : 'success', durationMs / 1000);
    this.#options.log[wasSaid ? 'info' : 'debug'](
      { ...fieldsOf(intent), author: outcome.author, files, durationMs, result: kind },
      'sync finished',
    );
  }

  async onFailure(
    intent: Intent,
    { failure, error, durationMs }: { failure: Failure; error: unknown; durationMs: number },
  ) {
    const { metrics, log } = this.#options;
    const { message, code, isWaiting } = failure;
    const fields = { ...fieldsOf(intent), durationMs, code, err: error };
    if (isWaiting) {
      log.info({ ...fields, result: 'waiting' }, 'sync held back');
    } else {
      metrics.onSync('error', durationMs / 1000);
      log.warn({ ...fields, result: 'error' }, 'sync failed');
    }
    await this.say({ state: isWaiting ? 'Pending' : 'Error', message }, { intent });
  }

  /** The gateway was told of changes, or was not. */
  onReload(intent: Intent, problem: ReloadProblem | undefined): void {
    const { metrics, log } = this.#options;
    metrics.onReload(problem ? 'error' : 'success');
    const fields = fieldsOf(intent);
    if (problem) log[problem.isWaiting ? 'info' : 'warn']({ ...fields, err: problem.error }, 'gateway not told');
    else log.info(fields, 'gateway told');
  }

  /** Reports a finding unless it is the last one again, and tells whether it did. */
  async say(
    finding: Finding,
    { intent, isNews = false }: { intent?: Intent; isNews?: boolean } = {},
  ): Promise<boolean> {
    const { state, message, changes, generation = intent?.generation } = finding;
    const key = JSON.stringify([state, message, changes, generation, intent]);
    if (key === this.#said && !isNews) return false;
    this.#said = key;
    await this.#options.report({ ...finding, ...(generation !== undefined && { generation }) });
    return true;
  }
}

const fieldsOf = ({ ref, commit, profile }: Intent) => ({ ref, commit, profile: profile.name });

/** Files that the gateway has not been told of are in place, and no more than that. */
function syncedFinding({ commit, ref }: Intent, problem: ReloadProblem | undefined): Finding {
  if (!problem) return { state: 'Synced' };
  const message = `the files of commit ${commit} (${ref}) are in place, and the gateway is still to be told: ${problem.message}`;
  return { state: problem.isWaiting ? 'Pending' : 'Error', message };
}

function plannedFinding({ commit, ref }: Intent, plan: SyncOutcome['plan']): Finding {
  const message = `dry run: ${plan.changes.length} changes would bring commit ${commit} (${ref}) in place`;
  return { state: 'DryRun', message, changes: describeChanges(plan, BOUNDS.changes) };
}

/** What a failed sync looks like from outside. */
export interface Failure {
  message: string;
  code: string;
  /** Whether it is expected to pass without anybody's doing. */
  isWaiting: boolean;
  /** Least time to wait before the next try, in milliseconds, where somebody asked for it. */
  retryAfterMs: number;
}

/** What the errors of a file system mean to a person. */
const words: Record<string, string> = {
  ENOSPC: 'the data volume is full',
  EDQUOT: 'the data volume is full (quota)',
  EROFS: 'the data volume is mounted read-only',
  EACCES: 'the agent may not write to the data volume: it has to run as the user of the gateway',
  EPERM: 'the agent may not write to the data volume: it has to run as the user of the gateway',
  EISDIR: 'a folder took the place of a file during the sync',
  ENOTDIR: 'a file took the place of a folder during the sync',
  EXDEV: 'another volume is mounted inside the data volume: the agent cannot deliver into it',
  ENAMETOOLONG: 'the name of a file is too long for the data volume',
};

/** Maps anything that a sync threw to its report, its log line and its retry. */
export function describeFailure(error: unknown): Failure {
  const isWaiting = error instanceof WaitingError;
  if (isWaiting || error instanceof TransientError) {
    return { message: error.message, code: error.code, isWaiting, retryAfterMs: error.retryAfterMs ?? 0 };
  }
  if (error instanceof TerminalError) return passing(error.message, error.code);
  const { code = 'unexpected', path } = error as NodeJS.ErrnoException;
  const known = words[code];
  if (!known) return passing(messageOf(error), code);
  return passing(`${known} (${code}${path ? `, ${path}` : ''})`, `data.${code}`);
}

const passing = (message: string, code: string): Failure => ({ message, code, isWaiting: false, retryAfterMs: 0 });
