import { randomBytes } from 'node:crypto';

/** Computes the value that deliveries are compared with, once when a secret is read. */
export type Prepare<T> = (secret: string) => T;

/** The prepared secrets of one method: global ones, and ones of single resources by `<namespace>.<name>`. */
export class SecretSet<T> {
  readonly global: readonly T[];
  readonly own: ReadonlyMap<string, readonly T[]>;
  /** Random secrets, which never leave the process, as many as the longest list has. */
  readonly #padding: readonly T[];

  constructor(global: readonly T[], own: ReadonlyMap<string, readonly T[]>, prepare: Prepare<T>) {
    const length = Math.max(1, global.length, ...[...own.values()].map((list) => list.length));
    this.global = global;
    this.own = own;
    this.#padding = Array.from({ length }, () => prepare(randomBytes(32).toString('hex')));
  }

  /** Extends a list to the length that all resources have, so that the number of comparisons reveals nothing. */
  padded(list: readonly T[]): readonly T[] {
    return [...list, ...this.#padding.slice(list.length)];
  }
}
