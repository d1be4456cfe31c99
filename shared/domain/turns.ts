/**
 * What waits, for the sake of one or several parties each, such as namespaces. These have their turns one after the
 * other, however much waits for one of them, and the order within one is that of arrival.
 */
export class Turns<T> {
  /** In the order of their turns; none is empty. */
  readonly #lanes = new Map<string, Set<T>>();
  readonly #partiesOf = new Map<T, Set<string>>();

  get isEmpty(): boolean {
    return this.#lanes.size === 0;
  }

  /** How much waits, in all. */
  get size(): number {
    return this.#partiesOf.size;
  }

  sizeOf(party: string): number {
    return this.#lanes.get(party)?.size ?? 0;
  }

  /** Lets something wait for the sake of a party; what does so already keeps its place. */
  add(party: string, item: T): void {
    addTo(this.#lanes, party, item);
    addTo(this.#partiesOf, item, party);
  }

  /** Takes the first of the next party that is admitted; whoever else it waited for does not have to wait any longer. */
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

  /** Ends the waiting, whoever it is for. */
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
