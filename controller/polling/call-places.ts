/**
 * Places for calls that run. The first half is for any namespace, the second half for namespaces that have none yet. So the
 * next namespace gets one, unless about half as many namespaces as there are places use all they can at the same time.
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
