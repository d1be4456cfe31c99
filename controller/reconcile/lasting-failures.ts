import { messageOf } from '../../shared/errors.ts';
import type { ObjectKey } from '../../shared/io/kubernetes/reflector.ts';
import type { Transition } from './transitions.ts';

/** So many failures in a row are no coincidence. */
const FAILURES_TOLD = 5;
/** Milliseconds until they are told again: an event is forgotten after an hour, and pauses last for up to five minutes. */
const AGAIN_MS = 25 * 60_000;

/** A failure of a resource: how many in a row it makes, and when, in milliseconds of a monotonic clock. */
interface Failure {
  failures: number;
  error: unknown;
  now: number;
}

/**
 * Tells people of resources whose reconciles go on failing, for which there is no status: to write it may be what is
 * refused. By the time, and not by their number: where gateways change all the time, one failure follows the other.
 */
export class LastingFailures {
  readonly #toldAt = new Map<ObjectKey, number>();

  /** What there is to say of a failure. */
  newsOf(key: ObjectKey, { failures, error, now }: Failure): Transition | undefined {
    if (failures === 1) this.forget(key);
    const toldAt = this.#toldAt.get(key);
    if (failures < FAILURES_TOLD || (toldAt !== undefined && now - toldAt < AGAIN_MS)) return undefined;
    this.#toldAt.set(key, now);
    const message = `${failures} reconciles in a row failed, and the next one follows after a pause: ${messageOf(error)}`;
    return { type: 'Warning', reason: 'ReconcileFailed', message };
  }

  forget(key: ObjectKey): void {
    this.#toldAt.delete(key);
  }
}
