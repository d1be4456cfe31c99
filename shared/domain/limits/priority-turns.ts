import { Turns } from './turns.ts';

export type Priority = 'high' | 'low';

/** Consecutive items of high priority after which one of low priority is next, so that a flood can't starve it. */
const HIGH_IN_A_ROW = 7;

/** {@link Turns} in two priorities. */
export class PriorityTurns<T> {
  readonly #turns = { high: new Turns<T>(), low: new Turns<T>() };
  #highInARow = 0;

  get isEmpty(): boolean {
    return this.#turns.high.isEmpty && this.#turns.low.isEmpty;
  }

  /** Adds an item for a party, or raises its priority. */
  add(party: string, item: T, priority: Priority): void {
    if (priority === 'high') this.#turns.low.delete(item);
    this.#turns[priority].add(party, item);
  }

  /** Takes the first item of the next party that is admitted. */
  take(admits: (party: string) => boolean): { item: T; priority: Priority } | undefined {
    const order: Priority[] = this.#highInARow < HIGH_IN_A_ROW ? ['high', 'low'] : ['low', 'high'];
    for (const priority of order) {
      const taken = this.#turns[priority].take(admits);
      if (!taken) continue;
      this.#highInARow = priority === 'high' ? this.#highInARow + 1 : 0;
      this.delete(taken.item);
      return { item: taken.item, priority };
    }
    return undefined;
  }

  delete(item: T): void {
    this.#turns.high.delete(item);
    this.#turns.low.delete(item);
  }
}
