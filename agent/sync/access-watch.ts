import { ACCESS_CHECK_MS } from './delays.ts';
import type { Job } from './job-queue.ts';

/** State of the files with credentials for the git server, and with trusted keys. */
export interface AccessFacts {
  /** Checks whether other files could have prevented the error. */
  isMissedBy: (error: unknown) => boolean;
  /** Returns a string that changes with the files. */
  stamp: () => Promise<string>;
}

/** Repeats what the mounted credentials or keys prevented as soon as others are mounted. */
export class AccessWatch implements Job {
  readonly name = 'access';
  readonly isMissedBy: AccessFacts['isMissedBy'];
  readonly stamp: AccessFacts['stamp'];
  readonly #waiting = new Map<Job, { stamp: string; retry: () => void }>();
  #checkAt = Number.POSITIVE_INFINITY;

  constructor({ isMissedBy, stamp }: AccessFacts) {
    this.isMissedBy = isMissedBy;
    this.stamp = stamp;
  }

  get dueMs(): number {
    return this.#waiting.size === 0 ? Number.POSITIVE_INFINITY : Math.max(0, this.#checkAt - performance.now());
  }

  /** Calls `retry`, once, when the files are no longer those with the stamp. */
  wait(job: Job, stamp: string, retry: () => void): void {
    this.#waiting.set(job, { stamp, retry });
    this.#checkAt = performance.now() + ACCESS_CHECK_MS;
  }

  /** The job no longer waits for other files. */
  forget(job: Job): void {
    this.#waiting.delete(job);
  }

  async run(): Promise<void> {
    const current = await this.stamp();
    this.#checkAt = performance.now() + ACCESS_CHECK_MS;
    for (const [job, { stamp, retry }] of this.#waiting) {
      if (stamp === current) continue;
      this.#waiting.delete(job);
      retry();
    }
  }
}
