import { timerMs } from '../../shared/domain/duration.ts';
import type { Places } from './places.ts';

/** Time after which a call is slow (ms), and the time limit of a call that doesn't have one. */
export const SLOW_AFTER_MS = 20_000;

export interface TimedCall {
  /** Namespace for which the call is made. */
  readonly namespace: string;
  /** Time limit (ms); 20 s if undefined. */
  readonly timeoutMs?: number;
}

/** Aborts a call at its time limit. A call that becomes slow needs a place among the slow ones, or is aborted then. */
export class CallDeadline {
  readonly #controller = new AbortController();
  readonly #call: TimedCall;
  readonly #slowPlaces: readonly Places[];
  #timer: NodeJS.Timeout;
  #isSlow = false;

  constructor(call: TimedCall, slowPlaces: readonly Places[]) {
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

  /** Stops the timer, and frees the places of a slow call. */
  clear(): void {
    clearTimeout(this.#timer);
    if (!this.#isSlow) return;
    this.#isSlow = false;
    for (const places of this.#slowPlaces) places.release(this.#call.namespace);
  }

  #reach(leftMs: number): void {
    const { namespace } = this.#call;
    this.#isSlow = leftMs > 0 && this.#slowPlaces.every((places) => places.hasFor(namespace));
    if (!this.#isSlow) {
      this.abort();
      return;
    }
    for (const places of this.#slowPlaces) places.take(namespace);
    this.#timer = setTimeout(() => this.abort(), timerMs(leftMs)).unref();
  }
}
