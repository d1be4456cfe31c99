import type { Logger } from '../../shared/log.ts';
import type { Job } from './job-queue.ts';
import type { Synced } from './sync.ts';
import type { SyncObserver } from './sync-job.ts';

/** Runs housekeeping after syncs. If it was interrupted, it is due again. */
export class Housekeeping implements Job, SyncObserver {
  readonly name = 'housekeeping';
  readonly #tidy: (signal: AbortSignal) => Promise<void>;
  readonly #log: Logger;
  /** Commit of the last sync. */
  #commit = '';
  #isScheduled = false;
  #isDue = false;

  constructor(tidy: (signal: AbortSignal) => Promise<void>, log: Logger) {
    this.#tidy = tidy;
    this.#log = log;
  }

  get dueMs(): number {
    return this.#isDue ? 0 : Number.POSITIVE_INFINITY;
  }

  /** Schedules a run after the next sync, because a commit is fetched without one. */
  onFetched(): void {
    this.#isScheduled = true;
  }

  /** Makes a scheduled run due, or one for a new commit. */
  onSyncEnd(outcome: Synced | undefined): void {
    if (!outcome || outcome.isWithoutGit) return;
    const { commit } = outcome.intent;
    this.#isDue ||= this.#isScheduled || commit !== this.#commit;
    this.#isScheduled = false;
    this.#commit = commit;
  }

  async run(signal: AbortSignal): Promise<void> {
    if (!this.#isDue) return;
    try {
      if (!signal.aborted) await this.#tidy(signal);
    } catch (err) {
      if (!signal.aborted) this.#log.warn({ err }, 'clone not tidied');
    }
    this.#isDue = signal.aborted;
  }
}
