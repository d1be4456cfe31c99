import type { Logger } from '../../shared/log.ts';
import type { ReloadProblem } from '../gateway/gateway.ts';
import type { AgentMetrics } from '../metrics.ts';
import type { Intent } from '../resource/judge-resource.ts';
import { fieldsOf, type Happening, NOTHING_SAID, news } from './news.ts';
import type { Finding } from './reports.ts';

export interface AnnouncerOptions {
  /** Has it written; waits for no API server. */
  report: (finding: Finding) => Promise<void>;
  metrics: AgentMetrics;
  log: Logger;
}

/** Maximum number of files that a line names. */
const MAX_LOGGED = 50;

/** Tells the world what is new: by the report, the metrics and one log line for each sync. */
export class Announcer {
  readonly #options: AnnouncerOptions;
  #said = NOTHING_SAID;
  /** Run and commit whose content was judged last. */
  #warnedOf = '';

  constructor(options: AnnouncerOptions) {
    this.#options = options;
  }

  async announce(happening: Happening): Promise<void> {
    const { metrics, log, report } = this.#options;
    const { said, report: finding, log: line, figures } = news(this.#said, happening);
    this.#said = said;
    if (figures.sync) metrics.onSync(figures.sync.result, figures.sync.seconds);
    if (figures.inLine) metrics.onInLine(figures.inLine);
    if (figures.syncPeriod !== undefined) metrics.onPeriod(figures.syncPeriod);
    if (line) log[line.level](line.fields, line.message);
    if (happening.kind === 'done') this.#warnOfContent(happening);
    if (finding) await report(finding);
  }

  /** Once per commit. */
  #warnOfContent({ intent, outcome }: Extract<Happening, { kind: 'done' }>): void {
    const key = `${outcome.kind} ${intent.commit}`;
    if (this.#warnedOf === key) return;
    this.#warnedOf = key;
    const { ignored = new Map(), pointers = [] } = outcome;
    const named = [...ignored].map(([file, attributes]) => `${file} (${attributes})`);
    const warn = (names: string[], message: string) => {
      const files = names.slice(0, MAX_LOGGED);
      if (files.length > 0) this.#options.log.warn({ ...fieldsOf(intent), count: names.length, files }, message);
    };
    warn(named, 'attributes in .gitattributes ignored');
    warn(pointers, 'delivered without filter=lfs, though they look like pointers of Git LFS');
  }

  /** The gateway was notified of changes, or could not be. */
  onReload(intent: Intent, problem: ReloadProblem | undefined): void {
    const { metrics, log } = this.#options;
    metrics.onReload(problem ? 'error' : 'success');
    const fields = fieldsOf(intent);
    if (problem) log[problem.isWaiting ? 'info' : 'warn']({ ...fields, err: problem.error }, 'gateway not told');
    else log.info(fields, 'gateway notified');
  }
}
