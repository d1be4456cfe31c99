import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../shared/log.ts';
import { type Refusal, refused } from '../routes/refusals.ts';
import type { Annotate } from './annotate.ts';
import { type Annotations, type Part, withoutPart } from './annotations-of.ts';
import { type Failure, judgeFailure } from './judge-failure.ts';
import { isSuperseded, mergeAnnotations } from './merge-annotations.ts';
import { ServerClock } from './server-clock.ts';
import { Slots } from './slots.ts';
import type { Target } from './target.ts';

/** What became of annotations: stored, themselves or newer ones in their place, or not. */
export type Stored = { kind: 'stored'; superseded: boolean } | Refusal;

/** Makes annotations with the time at which they were asked for, by the clock of the API server. */
export type Stamp = (at: Date) => Annotations;

export interface QueueOptions {
  annotate: Annotate;
  log: Logger;
  clock?: ServerClock;
  /** Told of a patch that carries so many deliveries, and of one that is tried again: for metrics. */
  onMerged?: (deliveries: number) => void;
  onRetried?: () => void;
  /** Time in which annotations are stored or given up, in milliseconds: senders wait 10 s. */
  deadlineMs?: number;
  /** Time that one patch may take, in milliseconds. */
  attemptMs?: number;
  /** Patches under way at most, over all resources. */
  concurrency?: number;
  /** Deliveries that wait at most, over all resources and for one. */
  maxWaiting?: number;
  maxWaitingForOne?: number;
}

interface Waiter {
  stamp: Stamp;
  arrived: number;
  /** Parts in whose place something newer is stored. */
  lost: Set<Part>;
  settle(result: Stored): void;
}

/** The deliveries for one resource that are not yet answered, oldest first. */
interface Lane {
  target: Target;
  waiters: Set<Waiter>;
}

/** A patch as it was sent, with what each waiter has in it. */
interface Attempt {
  parts: Map<Waiter, Annotations>;
  merged: Annotations;
  offsetMs: number;
}

const FIRST_BACKOFF_MS = 100;
const LONGEST_BACKOFF_MS = 2000;
const RETRY_AFTER_MS = 5000;

const ignore = () => {};

/**
 * Stores annotations with at most one patch per resource under way: what arrives meanwhile goes into the next one,
 * merged, so that a burst costs a handful of writes. A patch that may succeed later is tried again.
 */
export class AnnotationQueue {
  readonly #lanes = new Map<string, Lane>();
  readonly #options: Required<QueueOptions>;
  readonly #slots: Slots;
  #waiting = 0;

  constructor(options: QueueOptions) {
    const limits = { deadlineMs: 8000, attemptMs: 4000, concurrency: 32, maxWaiting: 10_000, maxWaitingForOne: 2000 };
    const hooks = { clock: new ServerClock(), onMerged: ignore, onRetried: ignore };
    this.#options = { ...limits, ...hooks, ...options };
    this.#slots = new Slots(this.#options.concurrency);
  }

  /** Deliveries that are not yet answered. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Resolves when a patch that carries these annotations or newer ones is stored, or when they are given up. */
  store(target: Target, stamp: Stamp): Promise<Stored> {
    if (this.#waiting >= this.#options.maxWaiting) {
      return Promise.resolve(refused('Overloaded', { retryAfterMs: RETRY_AFTER_MS }));
    }
    const key = `${target.namespace}/${target.name}`;
    const lane = this.#lanes.get(key);
    if (lane) {
      if (lane.waiters.size < this.#options.maxWaitingForOne) return this.#wait(lane, stamp);
      return Promise.resolve(refused('TooManyRequests', { retryAfterMs: 1000 }));
    }
    const opened: Lane = { target, waiters: new Set() };
    this.#lanes.set(key, opened);
    const stored = this.#wait(opened, stamp);
    void this.#drain(key, opened);
    return stored;
  }

  #wait(lane: Lane, stamp: Stamp): Promise<Stored> {
    this.#waiting++;
    return new Promise((resolve) => {
      const settle = (result: Stored) => {
        if (!lane.waiters.delete(waiter)) return;
        clearTimeout(deadline);
        this.#waiting--;
        resolve(result);
      };
      const waiter: Waiter = { stamp, arrived: performance.now(), lost: new Set(), settle };
      const giveUp = () => settle(refused('ApiServerUnavailable', { retryAfterMs: RETRY_AFTER_MS }));
      const deadline = setTimeout(giveUp, this.#options.deadlineMs);
      lane.waiters.add(waiter);
    });
  }

  async #drain(key: string, lane: Lane): Promise<void> {
    for (let failures = 0; lane.waiters.size > 0; ) {
      const retryAfterMs = await this.#slots.run(() => this.#patch(lane));
      if (retryAfterMs === undefined) {
        failures = 0;
        continue;
      }
      this.#options.onRetried();
      const backoffMs = Math.min(FIRST_BACKOFF_MS * 2 ** failures++, LONGEST_BACKOFF_MS) * (0.5 + Math.random() / 2);
      await sleep(Math.min(Math.max(backoffMs, retryAfterMs), this.#options.deadlineMs));
    }
    // In the same turn in which nobody was found waiting: nobody can have joined a lane that is no longer served.
    this.#lanes.delete(key);
  }

  /** Sends what waits. Undefined: go on with what still waits; else the time after which to try again, in milliseconds. */
  async #patch(lane: Lane): Promise<number | undefined> {
    if (lane.waiters.size === 0) return undefined;
    const attempt = this.#prepare(lane);
    try {
      await this.#options.annotate(lane.target, attempt.merged, this.#options.attemptMs);
    } catch (error) {
      return this.#fail(lane, attempt, error);
    }
    this.#options.onMerged(attempt.parts.size);
    for (const [waiter, annotations] of attempt.parts) {
      const superseded = waiter.lost.size > 0 || isSuperseded(annotations, attempt.merged);
      waiter.settle({ kind: 'stored', superseded });
    }
    return undefined;
  }

  #prepare(lane: Lane): Attempt {
    const { clock } = this.#options;
    const parts = new Map<Waiter, Annotations>();
    for (const waiter of lane.waiters) {
      const stamped = waiter.stamp(clock.at(waiter.arrived));
      parts.set(waiter, [...waiter.lost].reduce(withoutPart, stamped));
    }
    return { parts, merged: mergeAnnotations([...parts.values()]), offsetMs: clock.offsetMs };
  }

  #fail(lane: Lane, attempt: Attempt, error: unknown): number | undefined {
    const { target } = lane;
    const { log } = this.#options;
    const failure = judgeFailure(error, target);
    if (failure.kind === 'retry') {
      log.debug({ ...target, err: error }, 'a patch failed and is tried again');
      return failure.afterMs;
    }
    if (failure.kind === 'superseded') {
      this.#supersede(attempt, failure);
      return undefined;
    }
    if (failure.kind === 'refused') log.error({ ...target, err: error }, 'the API server refused a patch');
    const isMissing = failure.kind === 'missing';
    const result = isMissing ? refused('NotFound') : refused('ApiServerRefused', { retryAfterMs: RETRY_AFTER_MS });
    for (const waiter of attempt.parts.keys()) waiter.settle(result);
    return undefined;
  }

  /** Takes the part that is too old out of what is sent next; what has nothing else is done. */
  #supersede({ parts, offsetMs }: Attempt, { part }: Extract<Failure, { kind: 'superseded' }>): void {
    // The answer may have told that our clock is wrong: then the same is sent once more, with the right time.
    if (this.#options.clock.offsetMs !== offsetMs) return;
    for (const [waiter, annotations] of parts) {
      const rest = withoutPart(annotations, part);
      if (Object.keys(rest).length < Object.keys(annotations).length) waiter.lost.add(part);
      if (Object.keys(rest).length === 0) waiter.settle({ kind: 'stored', superseded: true });
    }
  }
}
