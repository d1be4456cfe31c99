/**
 * What waits, for the sake of one or several namespaces each. The namespaces have their turns one after the other,
 * however much waits for one of them, and the order within one is that of arrival.
 */
export class Turns<T> {
  /** In the order of their turns; none is empty. */
  readonly #lanes = new Map<string, Set<T>>();
  readonly #namespacesOf = new Map<T, Set<string>>();

  get isEmpty(): boolean {
    return this.#lanes.size === 0;
  }

  /** Lets something wait for the sake of a namespace; what does so already keeps its place. */
  add(namespace: string, item: T): void {
    addTo(this.#lanes, namespace, item);
    addTo(this.#namespacesOf, item, namespace);
  }

  /** Takes the first of the next namespace that is admitted; whoever else it waited for does not have to wait any longer. */
  take(admits: (namespace: string) => boolean): { namespace: string; item: T } | undefined {
    for (const [namespace, lane] of this.#lanes) {
      if (!admits(namespace)) continue;
      const [item] = lane as Set<T> & [T];
      this.delete(item);
      if (this.#lanes.delete(namespace) && lane.size > 0) this.#lanes.set(namespace, lane);
      return { namespace, item };
    }
    return undefined;
  }

  /** Ends the waiting, whoever it is for. */
  delete(item: T): void {
    for (const namespace of this.#namespacesOf.get(item) ?? []) {
      const lane = this.#lanes.get(namespace);
      lane?.delete(item);
      if (lane?.size === 0) this.#lanes.delete(namespace);
    }
    this.#namespacesOf.delete(item);
  }
}

function addTo<K, V>(sets: Map<K, Set<V>>, key: K, value: V): void {
  const set = sets.get(key);
  if (set) set.add(value);
  else sets.set(key, new Set([value]));
}
