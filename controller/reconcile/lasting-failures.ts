import { messageOf } from '../../shared/domain/message-of.ts';
import type { Transition } from './status-transitions.ts';

/** Consecutive failures before an event is recorded. */
const MIN_FAILURES = 5;
/** Time between two events (ms). An event expires after an hour, and a backoff lasts up to five minutes. */
const PERIOD_MS = 25 * 60_000;

/**
 * Decides when a resource with failing reconciles gets an event. The status can't show the failure, because writing it
 * may be what fails. Events are limited by time, because failures follow quickly while gateways change.
 */
export class LastingFailures {
  #reportedAt = Number.NEGATIVE_INFINITY;

  /** Returns the event for the latest of several consecutive failures, if any; `now` is a monotonic time (ms). */
  eventOf(failures: number, error: unknown, now: number): Transition | undefined {
    if (failures === 1) this.#reportedAt = Number.NEGATIVE_INFINITY;
    if (failures < MIN_FAILURES || now - this.#reportedAt < PERIOD_MS) return undefined;
    this.#reportedAt = now;
    const message = `${failures} consecutive reconciles failed; retrying with backoff: ${messageOf(error)}; see the log of the controller`;
    return { type: 'Warning', reason: 'ReconcileFailed', message };
  }
}
