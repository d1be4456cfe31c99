/**
 * A queue of items, each for one or more parties, such as namespaces. Parties take turns regardless of their number of
 * items; items of one party are in order of arrival.
 */
export class Turns<T> {
  /** Queues in the order of their turns; none is empty. */
  readonly #lanes = new Map<string, Set<T>>();
  readonly #partiesOf = new Map<T, Set<string>>();

  get isEmpty(): boolean {
    return this.#lanes.size === 0;
  }

  /** Total number of items. */
  get size(): number {
    return this.#partiesOf.size;
  }

  sizeOf(party: string): number {
    return this.#lanes.get(party)?.size ?? 0;
  }

  /** Adds an item for a party; an item that is already queued keeps its position. */
  add(party: string, item: T): void {
    addTo(this.#lanes, party, item);
    addTo(this.#partiesOf, item, party);
  }

  /** Takes the first item of the next admitted party, and removes it for all other parties. */
  take(admits: (party: string) => boolean = () => true): { party: string; item: T } | undefined {
    for (const [party, lane] of this.#lanes) {
      if (!admits(party)) continue;
      const [item] = lane as Set<T> & [T];
      this.delete(item);
      if (this.#lanes.delete(party) && lane.size > 0) this.#lanes.set(party, lane);
      return { party, item };
    }
    return undefined;
  }

  /** Removes an item for all parties. */
  delete(item: T): void {
    for (const party of this.#partiesOf.get(item) ?? []) {
      const lane = this.#lanes.get(party);
      lane?.delete(item);
      if (lane?.size === 0) this.#lanes.delete(party);
    }
    this.#partiesOf.delete(item);
  }
}

function addTo<K, V>(sets: Map<K, Set<V>>, key: K, value: V): void {
  const set = sets.get(key);
  if (set) set.add(value);
  else sets.set(key, new Set([value]));
}
