import { createHash } from 'node:crypto';

/**
 * Shortens a text that is compared later: texts with the same beginning stay distinct, and none equals a text that
 * wasn't shortened. Returns a copy, because a part of a string keeps the whole in memory.
 */
export function shorten(text: string, length: number): string {
  if (text.length <= length) return text;
  const hash = createHash('sha256').update(text).digest('hex').slice(0, HASH_LENGTH);
  return Buffer.from(`${text.slice(0, length - HASH_LENGTH - 1).toWellFormed()}-${hash}`).toString();
}

/** In characters. The writer of a text can only deceive itself with an equal hash. */
const HASH_LENGTH = 8;
