import { setTimeout as sleep } from 'node:timers/promises';
import { NO_REPOSITORY, REQUEST_ANNOTATIONS } from '../../shared/api/names.ts';
import { backoffMs } from '../../shared/domain/limits/backoff.ts';
import { RateLimit } from '../../shared/domain/limits/rate-limit.ts';
import { Slots } from '../../shared/domain/limits/slots.ts';
import { ServerClock } from '../../shared/io/kubernetes/server-clock.ts';
import type { Logger } from '../../shared/log.ts';
import type { Annotate } from './annotate.ts';
import {
  type AcceptedDelivery,
  type Annotations,
  annotationsOf,
  isSuperseded,
  mergeAnnotations,
  type Part,
  repositoryOf,
  withoutPart,
} from './annotations-of.ts';
import { isDenied, judgeFailure } from './judge-failure.ts';
import { keyOf, type Target } from './target.ts';

export type StoreResult = Stored | { kind: 'foreign' } | Failed;

interface Stored {
  kind: 'stored';
  /** A newer delivery is stored instead. */
  superseded: boolean;
  /** The whole ID of a request. */
  requestId?: string | undefined;
}

interface Failed {
  kind: 'failed';
  reason: 'NotFound' | 'ApiServerRefused' | 'ApiServerUnavailable' | 'Overloaded' | 'TooManyRequests';
  details?: { retryAfterMs: number };
}

export interface QueueOptions {
  annotate: Annotate;
  log: Logger;
  clock?: Pick<ServerClock, 'at' | 'offsetMs'>;
  /** Called with the number of deliveries in a patch, and for each retry, for metrics. */
  onMerged?: (deliveries: number) => void;
  onRetried?: () => void;
  /** Deadline for storing annotations (ms). Senders wait 10 s. */
  deadlineMs?: number;
  /** Timeout of one patch (ms). */
  attemptMs?: number;
  /** Maximum number of concurrent patches. */
  concurrency?: number;
  /** Maximum number of waiting deliveries, in total and per resource. */
  maxWaiting?: number;
  maxWaitingForOne?: number;
}

interface Waiter {
  delivery: AcceptedDelivery;
  arrived: number;
  /** Parts that were superseded by stored ones. */
  lost: Set<Part>;
  /** Whether it was already retried with a corrected time. */
  isRestamped: boolean;
  settle(result: StoreResult): void;
}

/** Pending deliveries for one resource, oldest first. */
interface Lane {
  target: Target;
  waiters: Set<Waiter>;
  lastError: unknown;
}

/** A patch as it was sent, with the annotations of each waiter. */
interface SentPatch {
  parts: Map<Waiter, Annotations>;
  merged: Annotations;
  offsetMs: number;
}

const BACKOFF = { baseMs: 100, maxMs: 2_000, jitter: 0.5 };
const RETRY_AFTER_MS = 5000;
const REJECTED = 'the API server rejected a patch';
/** Rate limit of warnings about failed patches, which an unavailable API server would cause in large numbers. */
const WARNINGS = { perMinute: 60, burst: 1, maxKeys: 1 };

const ignore = () => {};
const failed = (reason: Failed['reason'], retryAfterMs?: number): Failed =>
  retryAfterMs === undefined ? { kind: 'failed', reason } : { kind: 'failed', reason, details: { retryAfterMs } };

/**
 * Stores annotations with at most one patch per resource at a time. Deliveries that arrive during a patch are merged into
 * the next one, so a burst causes only a few writes. A patch that may succeed later is retried.
 */
export class AnnotationQueue {
  readonly #lanes = new Map<string, Lane>();
  readonly #options: Required<QueueOptions>;
  readonly #slots: Slots;
  readonly #warnings = new RateLimit(WARNINGS);
  #waiting = 0;

  constructor(options: QueueOptions) {
    const times = { deadlineMs: 8000, attemptMs: 4000 };
    const limits = { concurrency: 32, maxWaiting: 2000, maxWaitingForOne: 1000 };
    const hooks = { clock: new ServerClock(), onMerged: ignore, onRetried: ignore };
    this.#options = { ...times, ...limits, ...hooks, ...options };
    this.#slots = new Slots(this.#options.concurrency);
  }

  /** Number of pending deliveries. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Resolves when a patch with the annotations of this delivery or a newer one is stored, or at the deadline. */
  async enqueue(target: Target, delivery: AcceptedDelivery): Promise<StoreResult> {
    if (this.#waiting >= this.#options.maxWaiting) return failed('Overloaded', RETRY_AFTER_MS);
    const key = keyOf(target);
    const lane = this.#lanes.get(key);
    if (lane && lane.waiters.size >= this.#options.maxWaitingForOne) return failed('TooManyRequests', 1000);
    if (lane) return await this.#wait(lane, delivery);
    const opened: Lane = { target, waiters: new Set(), lastError: undefined };
    this.#lanes.set(key, opened);
    const stored = this.#wait(opened, delivery);
    this.#drain(key, opened).catch((error: unknown) => {
      // An unexpected failure must not end the process or leave senders without a response.
      this.#lanes.delete(key);
      this.#warn(target, error, 'unexpected patch failure');
      for (const waiter of opened.waiters) waiter.settle(failed('ApiServerUnavailable', RETRY_AFTER_MS));
    });
    return await stored;
  }

  #wait(lane: Lane, delivery: AcceptedDelivery): Promise<StoreResult> {
    this.#waiting++;
    return new Promise((resolve) => {
      const settle = (result: StoreResult) => {
        if (!lane.waiters.delete(waiter)) return;
        clearTimeout(deadline);
        this.#waiting--;
        resolve(result);
      };
      const giveUp = () => {
        const error = lane.lastError ?? new Error('no response yet');
        const isRejected = isDenied(error);
        this.#warn(lane.target, error, isRejected ? REJECTED : 'failed to store a delivery in time');
        settle(isRejected ? failed('ApiServerRefused') : failed('ApiServerUnavailable', RETRY_AFTER_MS));
      };
      const deadline = setTimeout(giveUp, this.#options.deadlineMs);
      const waiter = { delivery, arrived: performance.now(), lost: new Set<Part>(), isRestamped: false, settle };
      lane.waiters.add(waiter);
    });
  }

  async #drain(key: string, lane: Lane): Promise<void> {
    for (let failures = 0; lane.waiters.size > 0; ) {
      const next = await this.#slots.run(() => this.#patch(lane));
      if (next.kind === 'go on') {
        failures = 0;
        continue;
      }
      this.#options.onRetried();
      failures += 1;
      const waitMs = next.afterMs + backoffMs(failures, BACKOFF, Math.random());
      await sleep(Math.min(waitMs, this.#options.deadlineMs));
    }
    // Deleted in the same turn in which the lane was found empty, so no delivery can join a lane without a worker.
    this.#lanes.delete(key);
  }

  /** Patches the pending deliveries, and returns when to patch the remaining ones. */
  async #patch(lane: Lane): Promise<Next> {
    if (lane.waiters.size === 0) return GO_ON;
    const attempt = this.#prepare(lane);
    try {
      await this.#options.annotate(lane.target, attempt.merged, this.#options.attemptMs);
    } catch (error) {
      return this.#fail(lane, attempt, error);
    }
    this.#options.onMerged(attempt.parts.size);
    for (const [waiter, annotations] of attempt.parts) {
      const superseded = waiter.lost.size > 0 || isSuperseded(annotations, attempt.merged);
      waiter.settle(storedAs(annotations, superseded));
    }
    return GO_ON;
  }

  /** Merges deliveries up to the first one of another repository, because a patch of both could be rejected for one. */
  #prepare(lane: Lane): SentPatch {
    const parts = new Map<Waiter, Annotations>();
    let repository: string | undefined;
    let latest: Date | undefined;
    for (const waiter of lane.waiters) {
      const arrivedAt = this.#options.clock.at(waiter.arrived);
      // Rounded times of the clock must not change the order of arrival.
      latest = latest && arrivedAt < latest ? latest : arrivedAt;
      const annotations = annotationsOf(waiter.delivery, latest);
      repository ??= repositoryOf(annotations);
      if (repositoryOf(annotations) !== repository) break;
      parts.set(waiter, [...waiter.lost].reduce(withoutPart, annotations));
    }
    return { parts, merged: mergeAnnotations([...parts.values()]), offsetMs: this.#options.clock.offsetMs };
  }

  #fail(lane: Lane, attempt: SentPatch, error: unknown): Next {
    const failure = judgeFailure(error, lane.target);
    switch (failure.kind) {
      case 'retry':
        lane.lastError = error;
        return { kind: 'wait', afterMs: failure.afterMs };
      case 'superseded':
        this.#supersede(attempt, failure.part);
        return GO_ON;
      case 'foreign':
        this.#refuseRepository(lane, repositoryOf(attempt.merged));
        return GO_ON;
      case 'missing':
        return settleAll(attempt, failed('NotFound'));
      case 'refused':
        return this.#refuse(lane, attempt, error);
    }
  }

  #refuse({ target }: Lane, attempt: SentPatch, error: unknown): Next {
    this.#warn(target, error, REJECTED);
    return settleAll(attempt, failed('ApiServerRefused'));
  }

  /** Refuses all pending deliveries of this repository, so that a flood of them costs one patch. */
  #refuseRepository({ waiters }: Lane, repository: string): void {
    for (const waiter of waiters)
      if ((waiter.delivery.repository ?? NO_REPOSITORY) === repository) waiter.settle({ kind: 'foreign' });
  }

  /** Removes the outdated part from later patches, and settles the deliveries that consist of nothing else. */
  #supersede({ parts, offsetMs }: SentPatch, part: Part): void {
    // If the response corrected the estimate of the clock, the delivery is retried with the right time. Only once, because
    // API servers with different clocks can share one address.
    const hasNewTime = this.#options.clock.offsetMs !== offsetMs;
    for (const [waiter, annotations] of parts) {
      if (hasNewTime && !waiter.isRestamped) {
        waiter.isRestamped = true;
        continue;
      }
      const rest = withoutPart(annotations, part);
      if (Object.keys(rest).length < Object.keys(annotations).length) waiter.lost.add(part);
      if (Object.keys(rest).length === 0) waiter.settle(storedAs(annotations, true));
    }
  }

  #warn(target: Target, err: unknown, message: string): void {
    if (this.#warnings.take('', performance.now())) this.#options.log.warn({ ...target, err }, message);
  }
}

/** Next action of a lane after a patch. */
type Next = { kind: 'go on' } | { kind: 'wait'; afterMs: number };

const GO_ON: Next = { kind: 'go on' };

const storedAs = (annotations: Annotations, superseded: boolean): Stored => ({
  kind: 'stored',
  superseded,
  requestId: annotations[REQUEST_ANNOTATIONS.requestId],
});

function settleAll({ parts }: SentPatch, result: StoreResult): Next {
  for (const waiter of parts.keys()) waiter.settle(result);
  return GO_ON;
}
