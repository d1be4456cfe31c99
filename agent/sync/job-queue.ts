import { setTimeout as sleep } from 'node:timers/promises';
import { backoffMs } from '../../shared/domain/limits/backoff.ts';
import { timerMs } from '../../shared/domain/text/duration.ts';
import type { Logger } from '../../shared/log.ts';
import { RETRY_BACKOFF } from './delays.ts';

/** Work of the agent, such as a sync, a preview, or housekeeping. */
export interface Job {
  /** Identifies it in the log. */
  readonly name: string;
  /** Milliseconds until it is due: at most 0 if it is, infinite if there is nothing to do. */
  readonly dueMs: number;
  /** Does it. The signal aborts if the sync is due or the agent stops; a job that it ends early is due again. */
  run(signal: AbortSignal): Promise<void>;
}

export interface JobQueueOptions {
  /** The job that cancels all others. */
  sync: Job;
  /** The other jobs, which take turns. */
  others: readonly Job[];
  log: Logger;
  /** Minimum time of a job before a check of the files cancels it (ms). */
  minMs?: number;
}

const MIN_MS = 5_000;

/**
 * Runs the jobs of the agent, one at a time. A change of the resource makes a sync due, which cancels the job in progress
 * at once. A periodic check of the files cancels it after a minimum time, which doubles with each time, so that a slow
 * job ends at last. A job that throws is logged and retried.
 */
export class JobQueue {
  readonly #sync: Job;
  /** All jobs but the sync, the one that ran last at the end. */
  #others: readonly Job[];
  readonly #log: Logger;
  readonly #minMs: number;
  #ending: AbortController | undefined;
  /** Aborted when a due time may have changed. */
  #changed = new AbortController();
  /** Times that jobs get before a check of the files cancels them again (ms). */
  readonly #allowances = new Map<Job, number>();
  /** Consecutive failures of jobs, and the monotonic time before which they aren't retried (ms). */
  readonly #failures = new Map<Job, { count: number; until: number }>();

  constructor({ sync, others, log, minMs = MIN_MS }: JobQueueOptions) {
    this.#sync = sync;
    this.#others = others;
    this.#log = log;
    this.#minMs = minMs;
  }

  /** Looks again at the due times, because one of them has changed. */
  onDue(): void {
    this.#changed.abort();
  }

  /** Cancels the job in progress for the sync, which is due at once, even if it has just failed. */
  onSyncDue(): void {
    this.#failures.delete(this.#sync);
    this.onDue();
    this.#ending?.abort();
  }

  /** Runs jobs until the signal aborts and the job in progress has ended. */
  async run(stopping: AbortSignal): Promise<void> {
    while (!stopping.aborted) {
      this.#changed = new AbortController();
      const job = this.#jobs.find((each) => this.#dueMsOf(each) <= 0);
      if (job) await this.#do(job, stopping);
      else await this.#pause(AbortSignal.any([stopping, this.#changed.signal]));
    }
  }

  /** All jobs, in the order in which they run if several are due. */
  get #jobs(): readonly Job[] {
    return [this.#sync, ...this.#others];
  }

  async #pause(signal: AbortSignal): Promise<void> {
    const ms = Math.min(...this.#jobs.map((job) => this.#dueMsOf(job)));
    await sleep(timerMs(ms), undefined, { signal }).catch(() => {});
  }

  async #do(job: Job, stopping: AbortSignal): Promise<void> {
    const ending = new AbortController();
    const overdue = new AbortController();
    const limitMs = this.#limitOf(job);
    const timer = setTimeout(() => overdue.abort(), timerMs(limitMs));
    this.#ending = ending;
    if (job !== this.#sync) this.#others = [...this.#others.filter((each) => each !== job), job];
    try {
      await job.run(AbortSignal.any([stopping, overdue.signal, ending.signal]));
      this.#failures.delete(job);
    } catch (err) {
      this.#onFailure(job, err);
    } finally {
      clearTimeout(timer);
      this.#ending = undefined;
    }
    if (overdue.signal.aborted) this.#allowances.set(job, limitMs * 2);
    else if (job.dueMs > 0) this.#allowances.delete(job);
  }

  /** Returns the time until the check of the files cancels the job (ms). Nothing cancels the check itself. */
  #limitOf(job: Job): number {
    if (job === this.#sync) return Number.POSITIVE_INFINITY;
    return Math.max(this.#dueMsOf(this.#sync), this.#allowances.get(job) ?? this.#minMs);
  }

  #onFailure(job: Job, err: unknown): void {
    const count = (this.#failures.get(job)?.count ?? 0) + 1;
    this.#failures.set(job, { count, until: performance.now() + backoffMs(count, RETRY_BACKOFF, Math.random()) });
    this.#log.error({ err, job: job.name }, 'job failed; retrying');
  }

  #dueMsOf(job: Job): number {
    const { until = 0 } = this.#failures.get(job) ?? {};
    return Math.max(job.dueMs, until - performance.now());
  }
}
