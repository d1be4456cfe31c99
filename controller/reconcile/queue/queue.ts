import { namespaceOf, splitKey } from '../../../shared/domain/kubernetes/object-name.ts';
import { type Priority, PriorityTurns } from '../../../shared/domain/limits/priority-turns.ts';
import { timerMs } from '../../../shared/domain/text/duration.ts';
import type { Logger } from '../../../shared/log.ts';

/** When to call the handler again for its key; undefined if only after a new event. */
export type Requeue =
  | {
      afterMs: number;
      /** The work is still to be done, with its priority; failures before and after it are consecutive. */
      isDeferred?: boolean;
      /** At once, and with high priority. */
      isUrgent?: boolean;
    }
  | undefined;

/**
 * Handles one key; an error results in a retry with backoff. `attempt` is 1 plus the number of consecutive failures.
 */
export type Handle = (key: string, attempt: number) => Promise<Requeue>;

export interface QueueOptions {
  concurrency: number;
  /** Delay before the next attempt after this many consecutive failures (ms). */
  backoffMs: (failures: number, error: unknown) => number;
  /** Called with the time for which a key waited for a worker (s), for metrics. */
  onTaken?: (waitedSeconds: number) => void;
  /** Milliseconds of a monotonic clock. */
  now?: () => number;
  log: Logger;
}

/** One namespace may use at most 1/N of the workers, so that slow handlers of one can't block the rest. */
const WORKERS_SHARE = 2;

/**
 * A queue of keys, modelled on client-go's workqueue. Each key has at most one handler and waits at most once; if it is
 * added while its handler runs, it is handled again. Namespaces take turns within each priority, and use at most half
 * of the workers each.
 */
export class KeyedQueue {
  readonly #options: QueueOptions;
  readonly #now: () => number;
  /** Keys waiting for a worker, the oldest first. */
  readonly #waiting = new Map<string, { since: number; priority: Priority }>();
  readonly #turns = new PriorityTurns<string>();
  /** In order of their start; `again` is the priority of a key that was added in the meantime. */
  readonly #running = new Map<string, { since: number; done: Promise<void>; again?: Priority }>();
  readonly #timers = new Map<string, { timer: NodeJS.Timeout; due: number; priority: Priority }>();
  readonly #failures = new Map<string, number>();
  /** Undefined before the start and after the stop. */
  #handle: Handle | undefined;

  constructor(options: QueueOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Number of keys waiting for a worker. */
  get depth(): number {
    return this.#waiting.size;
  }

  /** Age of the oldest running handler (ms); else 0. */
  get stuckForMs(): number {
    const [oldest] = this.#running.values();
    return oldest ? this.#now() - oldest.since : 0;
  }

  /** Starts handling, beginning with these keys in the order of their priorities. */
  start(handle: Handle, first: Iterable<QueuedKey> = []): void {
    for (const { key, priority } of first) this.#wait(key, priority);
    this.#handle = handle;
    this.#dispatch();
  }

  /** Stops handling, and waits for running handlers. */
  async stop(): Promise<void> {
    this.#handle = undefined;
    for (const { timer } of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
    await Promise.all(Array.from(this.#running.values(), ({ done }) => done));
  }

  /** Adds a key now, ahead of a pending backoff or requeue. Ignored unless the queue runs, for example on a spare. */
  add(key: string, priority: Priority = 'high'): void {
    if (!this.#handle) return;
    this.#cancelTimer(key);
    const running = this.#running.get(key);
    if (running) {
      if (running.again !== 'high') running.again = priority;
      return;
    }
    this.#wait(key, priority);
    this.#dispatch();
  }

  /**
   * Adds a key after at most 24 days (a limit of timers). An earlier requeue wins, with the higher priority. Ignored
   * unless the queue runs.
   */
  addAfter(key: string, delayMs: number, priority: Priority = 'low'): void {
    if (!this.#handle) return;
    const afterMs = timerMs(delayMs);
    const due = this.#now() + afterMs;
    const existing = this.#timers.get(key);
    if (existing && priority === 'high') existing.priority = 'high';
    if (existing && existing.due <= due) return;
    this.#cancelTimer(key);
    const timer = setTimeout(() => {
      this.#timers.delete(key);
      this.add(key, appointment.priority);
    }, afterMs);
    timer.unref();
    const appointment = { timer, due, priority: existing?.priority ?? priority };
    this.#timers.set(key, appointment);
  }

  /** Forgets a deleted key. If its handler is running, the key is handled again, to drop what the handler keeps. */
  forget(key: string): void {
    this.#cancelTimer(key);
    this.#failures.delete(key);
    const running = this.#running.get(key);
    if (running) running.again = 'low';
    this.#waiting.delete(key);
    this.#turns.delete(key);
  }

  #wait(key: string, priority: Priority): void {
    const waiting = this.#waiting.get(key);
    if (waiting?.priority === 'high' || waiting?.priority === priority) return;
    this.#waiting.set(key, { since: waiting?.since ?? this.#now(), priority });
    this.#turns.add(namespaceOf(key), key, priority);
  }

  #cancelTimer(key: string): void {
    clearTimeout(this.#timers.get(key)?.timer);
    this.#timers.delete(key);
  }

  #dispatch(): void {
    const handle = this.#handle;
    while (handle && this.#running.size < this.#options.concurrency) {
      const taken = this.#take();
      if (taken === undefined) return;
      // Starts a moment later: a handler that adds its key at once must find it among the running ones.
      const done = Promise.resolve(taken).then((work) => this.#work(work, handle));
      this.#running.set(taken.key, { since: this.#now(), done });
    }
  }

  #take(): QueuedKey | undefined {
    const taken = this.#turns.take((namespace) => this.#hasRoom(namespace));
    if (!taken) return undefined;
    const { item: key, priority } = taken;
    const since = this.#waiting.get(key)?.since ?? this.#now();
    this.#waiting.delete(key);
    this.#options.onTaken?.((this.#now() - since) / 1000);
    return { key, priority };
  }

  /** Whether a namespace can use another worker. */
  #hasRoom(namespace: string): boolean {
    const running = [...this.#running.keys()].filter((key) => namespaceOf(key) === namespace).length;
    return running < Math.ceil(this.#options.concurrency / WORKERS_SHARE);
  }

  async #work({ key, priority }: QueuedKey, handle: Handle): Promise<void> {
    const attempt = (this.#failures.get(key) ?? 0) + 1;
    try {
      const requeue = await handle(key, attempt);
      if (!requeue?.isDeferred) this.#failures.delete(key);
      if (requeue?.isUrgent) this.add(key, 'high');
      else if (requeue) this.addAfter(key, requeue.afterMs, requeue.isDeferred ? priority : 'low');
    } catch (error) {
      this.#failures.set(key, attempt);
      const retryInMs = Math.round(this.#options.backoffMs(attempt, error));
      this.#options.log.warn({ err: error, ...splitKey(key), failures: attempt, retryInMs }, 'reconcile failed');
      this.addAfter(key, retryInMs, priority);
    }
    const again = this.#running.get(key)?.again;
    this.#running.delete(key);
    if (again) this.add(key, again);
    this.#dispatch();
  }
}

/** A key, and the priority with which it waits for a worker or was taken by one. */
export interface QueuedKey {
  key: string;
  priority: Priority;
}
