import { LruMap } from '../../shared/domain/limits/lru-map.ts';

/** Maximum number of strings. */
const MAX_STRINGS = 8_192;
/** Maximum length (characters). Longer ones rarely recur, and a tenant could fill the pool with them. */
const MAX_LENGTH = 512;

/**
 * Keeps one copy of recurring strings: thousands of resources have conditions with the same few messages, and each
 * parse of JSON creates them again. Limited in size.
 */
export class StringPool {
  readonly #strings = new LruMap<string, string>(MAX_STRINGS);

  /** Replaces all strings in a value, which must belong to the caller, with the kept copies; returns the value. */
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
