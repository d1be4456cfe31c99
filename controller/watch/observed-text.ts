/**
 * The beginning of a text that anybody may have written at any length, as it fits into status. A copy: a part of a
 * string keeps the whole of it in memory. Half a character becomes what the API server would make of it, so that what
 * it stores is the same.
 */
export function clip<T extends string | undefined>(text: T, length: number): T {
  if (text === undefined || (text.length <= length && text.isWellFormed())) return text;
  return JSON.parse(JSON.stringify(text.slice(0, length).toWellFormed()));
}

/** Characters of a UID. The API server makes those of objects, but takes any text for that of an owner. */
export const MAX_UID = 64;
