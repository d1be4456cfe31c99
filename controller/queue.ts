import type { Logger } from '../shared/log.ts';

/** Requests go before polls. */
export type Priority = 'high' | 'low';

/** What a handler wants next: nothing, or to be called again after so many milliseconds. */
export type Outcome = { requeueAfterMs?: number } | undefined;

export interface QueueOptions {
  /** Reconciles one key; what it throws leads to a retry with back-off. */
  handle: (key: string) => Promise<Outcome>;
  concurrency: number;
  /** Milliseconds until the next try after `failures` failures in a row. */
  backoffMs: (failures: number, error: unknown) => number;
  log: Logger;
}

/**
 * A queue of keys: at most one handler a key, keys that are added while theirs runs are handled once more after it,
 * and a key that waits is there once. Modelled on client-go's workqueue.
 */
export class KeyedQueue {
  readonly #options: QueueOptions;
  /** Insertion order is the order of work. */
  readonly #waiting: Record<Priority, Set<string>> = { high: new Set(), low: new Set() };
  readonly #running = new Map<string, Promise<void>>();
  readonly #dirty = new Map<string, Priority>();
  readonly #timers = new Map<string, { timer: NodeJS.Timeout; due: number }>();
  readonly #failures = new Map<string, number>();
  #started = false;

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  /** Keys that wait for a worker now. */
  get depth(): number {
    return this.#waiting.high.size + this.#waiting.low.size;
  }

  /** Starts handling; what was added before is handled now. */
  start(): void {
    this.#started = true;
    this.#dispatch();
  }

  /** Stops handling and waits for the handlers that run. */
  async stop(): Promise<void> {
    this.#started = false;
    for (const { timer } of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
    await Promise.all(this.#running.values());
  }

  /** Adds a key for now; a running back-off or a later appointment is overtaken. */
  add(key: string, priority: Priority = 'high'): void {
    this.#cancelTimer(key);
    if (this.#running.has(key)) {
      if (this.#dirty.get(key) !== 'high') this.#dirty.set(key, priority);
      return;
    }
    if (priority === 'low' && this.#waiting.high.has(key)) return;
    if (priority === 'high') this.#waiting.low.delete(key);
    this.#waiting[priority].add(key);
    this.#dispatch();
  }

  /** Adds a key for later; an earlier appointment stands. */
  addAfter(key: string, afterMs: number): void {
    const due = performance.now() + afterMs;
    const existing = this.#timers.get(key);
    if (existing && existing.due <= due) return;
    this.#cancelTimer(key);
    const timer = setTimeout(() => {
      this.#timers.delete(key);
      this.add(key, 'low');
    }, afterMs);
    timer.unref();
    this.#timers.set(key, { timer, due });
  }

  /** Forgets a key that is gone for good. */
  forget(key: string): void {
    this.#cancelTimer(key);
    this.#failures.delete(key);
  }

  #cancelTimer(key: string): void {
    clearTimeout(this.#timers.get(key)?.timer);
    this.#timers.delete(key);
  }

  #dispatch(): void {
    while (this.#started && this.#running.size < this.#options.concurrency) {
      const key = this.#next();
      if (key === undefined) return;
      this.#running.set(key, this.#work(key));
    }
  }

  #next(): string | undefined {
    const queue = this.#waiting.high.size > 0 ? this.#waiting.high : this.#waiting.low;
    const [key] = queue;
    if (key !== undefined) queue.delete(key);
    return key;
  }

  async #work(key: string): Promise<void> {
    try {
      const outcome = await this.#options.handle(key);
      this.#failures.delete(key);
      if (outcome?.requeueAfterMs !== undefined) this.addAfter(key, outcome.requeueAfterMs);
    } catch (error) {
      const failures = (this.#failures.get(key) ?? 0) + 1;
      this.#failures.set(key, failures);
      const retryInMs = Math.round(this.#options.backoffMs(failures, error));
      this.#options.log.warn({ err: error, key, failures, retryInMs }, 'reconcile failed');
      this.addAfter(key, retryInMs);
    }
    this.#running.delete(key);
    const again = this.#dirty.get(key);
    this.#dirty.delete(key);
    if (again && this.#started) this.add(key, again);
    this.#dispatch();
  }
}
