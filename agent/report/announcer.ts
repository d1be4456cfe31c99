import type { Logger } from '../../shared/log.ts';
import type { AgentMetrics } from '../metrics.ts';
import type { Intent } from '../resource/judge-resource.ts';
import { announcementOf, logFields, NOTHING_REPORTED } from './announcement-of.ts';
import { describeFailure } from './describe-failure.ts';
import type { Finding } from './reports.ts';
import type { SyncOutcome } from './sync-outcome.ts';

export interface AnnouncerOptions {
  /** Schedules the report; doesn't wait for the API server. `isAboutHealth`: only the gateway's health has changed. */
  report: (finding: Finding, about: { isAboutHealth: boolean }) => Promise<void>;
  metrics: AgentMetrics;
  log: Logger;
}

/** Maximum number of files in a log line. */
const MAX_LOGGED = 50;

/** Announces outcomes that are new: in the report, the metrics, and one log line for each sync. */
export class Announcer {
  readonly #options: AnnouncerOptions;
  #memory = NOTHING_REPORTED;
  /** Kind of sync and commit of the last warning about content. */
  #warnedOf = '';

  constructor(options: AnnouncerOptions) {
    this.#options = options;
  }

  async announce(outcome: SyncOutcome): Promise<void> {
    const { metrics, log } = this.#options;
    const { memory, report, log: line, figures } = announcementOf(this.#memory, outcome);
    this.#memory = memory;
    if (figures.sync) metrics.onSync(figures.sync.result, figures.sync.seconds);
    if (figures.inLine) metrics.onInLine(figures.inLine);
    if (figures.syncPeriod !== undefined) metrics.onPeriod(figures.syncPeriod);
    if (line) log[line.level](line.fields, line.message);
    if ('plan' in outcome) this.#warnOfContent(outcome);
    if (report) await this.#options.report(report, { isAboutHealth: outcome.kind === 'verified' });
  }

  /** Warns once per commit. */
  #warnOfContent({ kind, intent, ignored = new Map(), pointers = [] }: SyncOutcome<'synced' | 'planned'>): void {
    const key = `${kind} ${intent.commit}`;
    if (this.#warnedOf === key) return;
    this.#warnedOf = key;
    const named = [...ignored].map(([file, attributes]) => `${file} (${attributes})`);
    const warn = (names: string[], message: string) => {
      const files = names.slice(0, MAX_LOGGED);
      if (files.length > 0) this.#options.log.warn({ ...logFields(intent), count: names.length, files }, message);
    };
    warn(named, 'attributes in .gitattributes ignored');
    warn(pointers, 'files that look like Git LFS pointers delivered without filter=lfs');
  }

  /** Logs and counts a notification of the gateway, or its failure. */
  onReload(intent: Intent, error?: unknown): void {
    const { metrics, log } = this.#options;
    metrics.onReload(error ? 'error' : 'success');
    const fields = logFields(intent);
    if (!error) log.info(fields, 'gateway notified');
    else log[describeFailure(error).isWaiting ? 'info' : 'warn']({ ...fields, err: error }, 'gateway not notified');
  }
}
