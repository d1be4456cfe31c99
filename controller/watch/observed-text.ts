/**
 * Shortens a text of any length that is only shown, or whose limit exceeds the length of all valid ones; others need
 * `shorten`. It returns a copy, because a part of a string keeps the whole in memory. Lone surrogates are replaced as in
 * the API server, so that the stored text is the same.
 */
export function clip<T extends string | undefined>(text: T, length: number): T {
  if (text === undefined || (text.length <= length && text.isWellFormed())) return text;
  return JSON.parse(JSON.stringify(text.slice(0, length).toWellFormed()));
}

/** Maximum length of a UID (characters). The API server creates those of objects, but accepts any text for an owner. */
export const MAX_UID = 64;
