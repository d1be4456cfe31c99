import { setTimeout as sleep } from 'node:timers/promises';
import { backoffMs } from '../../shared/domain/backoff.ts';
import { RateLimit } from '../../shared/domain/rate-limit.ts';
import { Slots } from '../../shared/domain/slots.ts';
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
import { judgeFailure } from './judge-failure.ts';
import { keyOf, type Target } from './target.ts';

/** What became of a delivery: it or a newer one in its place is stored, or neither. */
export type StoreResult = { kind: 'stored'; superseded: boolean } | { kind: 'foreign' } | Failed;

interface Failed {
  kind: 'failed';
  reason: 'NotFound' | 'ApiServerRefused' | 'ApiServerUnavailable' | 'Overloaded' | 'TooManyRequests';
  details?: { retryAfterMs: number };
}

export interface QueueOptions {
  annotate: Annotate;
  log: Logger;
  clock?: Pick<ServerClock, 'at' | 'offsetMs'>;
  /** Called with the number of deliveries in a patch, and for each patch that is tried again; for metrics. */
  onMerged?: (deliveries: number) => void;
  onRetried?: () => void;
  /** Time in which annotations are stored or given up, in milliseconds: senders wait 10 s. */
  deadlineMs?: number;
  /** Time that one patch may take, in milliseconds. */
  attemptMs?: number;
  /** Time for which a missing right may be one that the API server has not loaded yet, in milliseconds. */
  forbiddenMs?: number;
  /** Patches under way at most, over all resources. */
  concurrency?: number;
  /** Deliveries that wait at most, over all resources and for one. */
  maxWaiting?: number;
  maxWaitingForOne?: number;
}

interface Waiter {
  delivery: AcceptedDelivery;
  arrived: number;
  /** Parts in whose place something newer is stored. */
  lost: Set<Part>;
  /** Whether it was sent again with another time. */
  isRestamped: boolean;
  settle(result: StoreResult): void;
}

/** The deliveries for one resource that are not yet answered, oldest first. */
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
/** Log lines about failed patches: an unavailable API server must not become a flood of them. */
const WARNINGS = { perMinute: 60, burst: 1, maxKeys: 1 };

const ignore = () => {};
const failed = (reason: Failed['reason'], retryAfterMs?: number): Failed =>
  retryAfterMs === undefined ? { kind: 'failed', reason } : { kind: 'failed', reason, details: { retryAfterMs } };

/**
 * Stores annotations with at most one patch per resource under way: what arrives meanwhile goes into the next one,
 * merged, so that a burst costs a handful of writes. A patch that may succeed later is tried again.
 */
export class AnnotationQueue {
  readonly #lanes = new Map<string, Lane>();
  readonly #options: Required<QueueOptions>;
  readonly #slots: Slots;
  readonly #warnings = new RateLimit(WARNINGS);
  #waiting = 0;

  constructor(options: QueueOptions) {
    const times = { deadlineMs: 8000, attemptMs: 4000, forbiddenMs: 3000 };
    const limits = { concurrency: 32, maxWaiting: 2000, maxWaitingForOne: 1000 };
    const hooks = { clock: new ServerClock(), onMerged: ignore, onRetried: ignore };
    this.#options = { ...times, ...limits, ...hooks, ...options };
    this.#slots = new Slots(this.#options.concurrency);
  }

  /** Deliveries that are not yet answered. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Resolves when a patch with the annotations of this delivery or a newer one is stored, or when it is given up. */
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
      // An answer that nobody foresaw must neither end the process nor leave anybody waiting.
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
        this.#warn(lane.target, lane.lastError ?? new Error('no answer yet'), 'a delivery could not be stored in time');
        settle(failed('ApiServerUnavailable', RETRY_AFTER_MS));
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
    // In the same turn in which nobody was found waiting: nobody can have joined a lane that is no longer served.
    this.#lanes.delete(key);
  }

  /** Sends what waits, and says when to send what still waits then. */
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
      waiter.settle({ kind: 'stored', superseded });
    }
    return GO_ON;
  }

  /** Takes what waits up to the first delivery about another repository: a patch of both would be refused for one. */
  #prepare(lane: Lane): SentPatch {
    const parts = new Map<Waiter, Annotations>();
    let repository: string | undefined;
    for (const waiter of lane.waiters) {
      const annotations = this.#annotationsOf(waiter);
      repository ??= repositoryOf(annotations);
      if (repositoryOf(annotations) !== repository) break;
      parts.set(waiter, [...waiter.lost].reduce(withoutPart, annotations));
    }
    return { parts, merged: mergeAnnotations([...parts.values()]), offsetMs: this.#options.clock.offsetMs };
  }

  /** The annotations of a delivery, with its time by the clock of the API server as it is known now. */
  #annotationsOf({ delivery, arrived }: Waiter): Annotations {
    return annotationsOf(delivery, this.#options.clock.at(arrived));
  }

  #fail(lane: Lane, attempt: SentPatch, error: unknown): Next {
    const failure = judgeFailure(error, lane.target);
    switch (failure.kind) {
      case 'retry':
        lane.lastError = error;
        return { kind: 'wait', afterMs: failure.afterMs };
      case 'forbidden':
        if (ageOf(attempt) >= this.#options.forbiddenMs) return this.#refuse(lane, attempt, error);
        lane.lastError = error;
        return { kind: 'wait', afterMs: 0 };
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
    this.#warn(target, error, 'a patch is refused for good');
    return settleAll(attempt, failed('ApiServerRefused'));
  }

  /** Refuses every delivery about this repository that waits by now, so that a flood from it costs one patch. */
  #refuseRepository({ waiters }: Lane, repository: string): void {
    for (const waiter of waiters)
      if (repositoryOf(this.#annotationsOf(waiter)) === repository) waiter.settle({ kind: 'foreign' });
  }

  /** Takes the part that is too old out of what is sent next; what has nothing else is done. */
  #supersede({ parts, offsetMs }: SentPatch, part: Part): void {
    // The answer may have told that our clock is wrong: then the same is sent with the right time, but once. Behind one
    // address there may be API servers whose clocks differ.
    const hasNewTime = this.#options.clock.offsetMs !== offsetMs;
    for (const [waiter, annotations] of parts) {
      if (hasNewTime && !waiter.isRestamped) {
        waiter.isRestamped = true;
        continue;
      }
      const rest = withoutPart(annotations, part);
      if (Object.keys(rest).length < Object.keys(annotations).length) waiter.lost.add(part);
      if (Object.keys(rest).length === 0) waiter.settle({ kind: 'stored', superseded: true });
    }
  }

  #warn(target: Target, err: unknown, message: string): void {
    if (this.#warnings.take('', performance.now())) this.#options.log.warn({ ...target, err }, message);
  }
}

/** What a lane does after a patch. */
type Next = { kind: 'go on' } | { kind: 'wait'; afterMs: number };

const GO_ON: Next = { kind: 'go on' };

/** How long the oldest delivery of an attempt has waited, in milliseconds. */
function ageOf({ parts }: SentPatch): number {
  return performance.now() - Math.min(...[...parts.keys()].map(({ arrived }) => arrived));
}

function settleAll({ parts }: SentPatch, result: StoreResult): Next {
  for (const waiter of parts.keys()) waiter.settle(result);
  return GO_ON;
}
