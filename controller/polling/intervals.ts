/** Poll intervals of many who share a repository, in milliseconds; knows the least without looking at each of them. */
export class Intervals {
  readonly #counts = new Map<number, number>();

  /** Undefined where nobody polls. */
  get least(): number | undefined {
    return this.#counts.size === 0 ? undefined : Math.min(...this.#counts.keys());
  }

  /** One of them changes its interval; undefined stands for none. */
  replace(before: number | undefined, after: number | undefined): void {
    if (before === after) return;
    if (after !== undefined) this.#counts.set(after, (this.#counts.get(after) ?? 0) + 1);
    if (before === undefined) return;
    const left = (this.#counts.get(before) ?? 0) - 1;
    if (left > 0) this.#counts.set(before, left);
    else this.#counts.delete(before);
  }
}
