/**
 * Concurrency slots. Half of them are open to all namespaces, and the rest are reserved for namespaces without a
 * running call. So a new namespace waits only if about half as many namespaces as there are slots hold all of them.
 */
export class CallPlaces {
  readonly #limit: number;
  readonly #perNamespace: number;
  readonly #taken = new Map<string, number>();
  #total = 0;

  /** `perNamespace` lowers the share of one namespace further. */
  constructor(limit: number, perNamespace = limit) {
    this.#limit = limit;
    this.#perNamespace = perNamespace;
  }

  get isEmpty(): boolean {
    return this.#total === 0;
  }

  hasFor(namespace: string): boolean {
    const own = this.#taken.get(namespace) ?? 0;
    return own < this.#perNamespace && this.#total < (own === 0 ? this.#limit : this.#limit / 2);
  }

  take(namespace: string): void {
    this.#change(namespace, 1);
  }

  release(namespace: string): void {
    this.#change(namespace, -1);
  }

  #change(namespace: string, by: number): void {
    this.#total += by;
    const own = (this.#taken.get(namespace) ?? 0) + by;
    if (own > 0) this.#taken.set(namespace, own);
    else this.#taken.delete(namespace);
  }
}
