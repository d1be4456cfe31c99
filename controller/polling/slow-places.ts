import { LruMap } from '../../shared/domain/lru-map.ts';
import { CallPlaces } from './call-places.ts';

/** A call that holds a slow place. */
export interface SlowCall {
  readonly namespace: string;
  /** Ends the call in favor of another namespace, and frees its places at once. */
  giveWay(): void;
}

/** Minimum time for which a namespace keeps its slow places before another can take them (ms). */
const KEPT_MS = 120_000;
/** Maximum namespaces whose turns are remembered. */
const MAX_NAMESPACES = 10_000;

/**
 * Places for slow calls. If all are taken, a call of a namespace that has none takes the place of a call whose namespace
 * has had its turn. A turn isn't over when a call ends, so that a namespace can't keep a place with call after call.
 */
export class SlowPlaces {
  readonly #places: CallPlaces;
  /** Calls that hold a place, the oldest first. */
  readonly #holders = new Set<SlowCall>();
  /** When the turn of each namespace began. It is over when a call has given way. */
  readonly #turns = new LruMap<string, number>(MAX_NAMESPACES);

  constructor(limit: number) {
    this.#places = new CallPlaces(limit);
  }

  hasFor(namespace: string): boolean {
    return this.#places.hasFor(namespace);
  }

  /** Returns the call that has to give way to a namespace for which there is no place. */
  yieldingTo(namespace: string): SlowCall | undefined {
    const holders = [...this.#holders];
    if (holders.some((holder) => holder.namespace === namespace)) return undefined;
    const now = performance.now();
    return holders.find((holder) => now - (this.#turns.get(holder.namespace) ?? now) >= KEPT_MS);
  }

  take(holder: SlowCall): void {
    const { namespace } = holder;
    this.#holders.add(holder);
    this.#places.take(namespace);
    this.#turns.set(namespace, this.#turns.get(namespace) ?? performance.now());
  }

  release(holder: SlowCall): void {
    this.#holders.delete(holder);
    this.#places.release(holder.namespace);
  }

  endTurn(namespace: string): void {
    this.#turns.delete(namespace);
  }
}
