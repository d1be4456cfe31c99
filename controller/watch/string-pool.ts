import { LruMap } from '../../shared/domain/lru-map.ts';

/** Maximum number of strings kept. */
const MAX_STRINGS = 8_192;
/** Longer ones, in characters, are not those that come again, and a tenant could fill the pool with them. */
const MAX_LENGTH = 512;

/**
 * Keeps one copy of strings that come again and again: in the conditions of thousands of resources stand the same few
 * sentences, and each parse of JSON makes them again. Bounded.
 */
export class StringPool {
  readonly #strings = new LruMap<string, string>(MAX_STRINGS);

  /** Replaces all strings inside a value, which must be the caller's own, by the copies that are kept; gives the value. */
  intern<T>(value: T): T {
    if (typeof value === 'string') return this.#keep(value) as T;
    if (typeof value !== 'object' || value === null) return value;
    const fields = value as Record<string, unknown>;
    for (const key of Object.keys(fields)) {
      const field = fields[key];
      if (typeof field === 'string' || typeof field === 'object') fields[key] = this.intern(field);
    }
    return value;
  }

  #keep(text: string): string {
    if (text.length > MAX_LENGTH) return text;
    const known = this.#strings.get(text);
    if (known === undefined) this.#strings.set(text, text);
    return known ?? text;
  }
}
