import { setTimeout as sleep } from 'node:timers/promises';
import { NO_REPOSITORY, REQUEST_ANNOTATIONS } from '../../shared/api/names.ts';
import { keyOf, type ResourceName } from '../../shared/domain/kubernetes/object-name.ts';
import { backoffMs } from '../../shared/domain/limits/backoff.ts';
import { RateLimit } from '../../shared/domain/limits/rate-limit.ts';
import { Slots } from '../../shared/domain/limits/slots.ts';
import { ServerClock } from '../../shared/io/kubernetes/server-clock.ts';
import type { Logger } from '../../shared/log.ts';
import { type Outcome, refused } from '../outcome.ts';
import type { Delivery, Sender } from '../sources/delivery.ts';
import type { Annotate } from './annotate.ts';
import {
  type Annotations,
  annotationsOf,
  isSuperseded,
  mergeAnnotations,
  type Part,
  repositoryOf,
  withoutPart,
} from './annotations-of.ts';
import { isDenied, judgeFailure } from './judge-failure.ts';

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
  delivery: Delivery & Sender;
  arrived: number;
  /** Parts that were superseded by stored ones. */
  lost: Set<Part>;
  /** Whether it was already retried with a corrected time. */
  isRestamped: boolean;
  settle(outcome: Outcome): void;
}

/** Pending deliveries for one resource, oldest first. */
interface Lane {
  resource: ResourceName;
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
const LATER = { retryAfterMs: 5_000 };
const REJECTED = 'the API server rejected a patch';
/** Rate limit of warnings about failed patches, which an unavailable API server would cause in large numbers. */
const WARNINGS = { perMinute: 60, burst: 1, maxKeys: 1 };

const ignore = () => {};

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
  async enqueue(resource: ResourceName, delivery: Delivery & Sender): Promise<Outcome> {
    if (this.#waiting >= this.#options.maxWaiting) return refused('Overloaded', LATER);
    const key = keyOf(resource);
    const lane = this.#lanes.get(key);
    if (lane && lane.waiters.size >= this.#options.maxWaitingForOne)
      return refused('TooManyRequests', { retryAfterMs: 1_000 });
    if (lane) return await this.#wait(lane, delivery);
    const opened: Lane = { resource, waiters: new Set(), lastError: undefined };
    this.#lanes.set(key, opened);
    const stored = this.#wait(opened, delivery);
    this.#drain(key, opened).catch((error: unknown) => {
      // An unexpected failure must not end the process or leave senders without a response.
      this.#lanes.delete(key);
      this.#warn(resource, error, 'unexpected patch failure');
      for (const waiter of opened.waiters) waiter.settle(refused('ApiServerUnavailable', LATER));
    });
    return await stored;
  }

  #wait(lane: Lane, delivery: Delivery & Sender): Promise<Outcome> {
    this.#waiting++;
    return new Promise((resolve) => {
      const settle = (outcome: Outcome) => {
        if (!lane.waiters.delete(waiter)) return;
        clearTimeout(deadline);
        this.#waiting--;
        resolve(outcome);
      };
      const giveUp = () => {
        const error = lane.lastError ?? new Error('no response yet');
        const isRejected = isDenied(error);
        this.#warn(lane.resource, error, isRejected ? REJECTED : 'failed to store a delivery in time');
        settle(isRejected ? refused('ApiServerRefused') : refused('ApiServerUnavailable', LATER));
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
      await this.#options.annotate(lane.resource, attempt.merged, this.#options.attemptMs);
    } catch (error) {
      return this.#fail(lane, attempt, error);
    }
    this.#options.onMerged(attempt.parts.size);
    for (const [waiter, annotations] of attempt.parts) {
      const superseded = waiter.lost.size > 0 || isSuperseded(annotations, attempt.merged);
      waiter.settle(storedAs(waiter, annotations, superseded));
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
    const failure = judgeFailure(error, lane.resource);
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
      case 'refused':
        if (failure.reason === 'ApiServerRefused') this.#warn(lane.resource, error, REJECTED);
        for (const waiter of attempt.parts.keys()) waiter.settle(refused(failure.reason));
        return GO_ON;
    }
  }

  /** Refuses all pending deliveries of this repository, so that a flood of them costs one patch. */
  #refuseRepository({ waiters }: Lane, repository: string): void {
    for (const waiter of waiters)
      if ((waiter.delivery.repository ?? NO_REPOSITORY) === repository)
        waiter.settle({ kind: 'ignored', reason: 'OtherRepository' });
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
      if (Object.keys(rest).length === 0) waiter.settle(storedAs(waiter, annotations, true));
    }
  }

  #warn(resource: ResourceName, err: unknown, message: string): void {
    if (this.#warnings.take('', performance.now())) this.#options.log.warn({ ...resource, err }, message);
  }
}

/** Next action of a lane after a patch. */
type Next = { kind: 'go on' } | { kind: 'wait'; afterMs: number };

const GO_ON: Next = { kind: 'go on' };

function storedAs({ delivery }: Waiter, annotations: Annotations, superseded: boolean): Outcome {
  const { ref, source, senderReason } = delivery;
  const requestId = annotations[REQUEST_ANNOTATIONS.requestId];
  return { kind: 'stored', ref, source, superseded, requestId, senderReason };
}
