import { timerMs } from '../../shared/domain/duration.ts';
import type { SlowPlaces } from './slow-places.ts';

/** Time after which a call is slow (ms), and the time limit of a call that doesn't have one. */
export const SLOW_AFTER_MS = 20_000;

export interface TimedCall {
  /** Namespace for which the call is made. */
  readonly namespace: string;
  /** Time limit (ms); 20 s if undefined. */
  readonly timeoutMs?: number;
}

/**
 * Aborts a call at its time limit. A call that becomes slow needs a place among the slow ones, and is aborted if it gets
 * none, or later if it has to give way.
 */
export class CallDeadline {
  readonly #controller = new AbortController();
  readonly #call: TimedCall;
  readonly #slowPlaces: readonly SlowPlaces[];
  #timer: NodeJS.Timeout;
  #isSlow = false;

  constructor(call: TimedCall, slowPlaces: readonly SlowPlaces[]) {
    this.#call = call;
    this.#slowPlaces = slowPlaces;
    const { timeoutMs = SLOW_AFTER_MS } = call;
    this.#timer = setTimeout(() => this.#reach(timeoutMs - SLOW_AFTER_MS), Math.min(timeoutMs, SLOW_AFTER_MS)).unref();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  abort(): void {
    this.#controller.abort(new DOMException('the call took too long', 'TimeoutError'));
  }

  get namespace(): string {
    return this.#call.namespace;
  }

  /** Stops the timer, and frees the places of a slow call. */
  clear(): void {
    clearTimeout(this.#timer);
    if (!this.#isSlow) return;
    this.#isSlow = false;
    for (const places of this.#slowPlaces) places.release(this);
  }

  /** Aborts a slow call in favor of another namespace, and frees its places at once. */
  giveWay(): void {
    this.clear();
    for (const places of this.#slowPlaces) places.endTurn(this.namespace);
    this.abort();
  }

  #reach(leftMs: number): void {
    const full = this.#slowPlaces.filter((places) => !places.hasFor(this.namespace));
    const yielding = full.map((places) => places.yieldingTo(this.namespace));
    this.#isSlow = leftMs > 0 && !yielding.includes(undefined);
    if (!this.#isSlow) {
      this.abort();
      return;
    }
    for (const other of yielding) other?.giveWay();
    for (const places of this.#slowPlaces) places.take(this);
    this.#timer = setTimeout(() => this.abort(), timerMs(leftMs)).unref();
  }
}
