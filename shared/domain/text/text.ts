/** Returns at most this many UTF-16 code units of a text, in a copy with an ellipsis if it is longer. */
export function truncate(text: string, limit: number): string {
  if (text.length <= limit) return text;
  return Buffer.from(`${text.slice(0, limit - 1).replace(/[\ud800-\udbff]$/, '')}…`).toString();
}

/** Returns an untrusted text as one line without control and formatting characters, which could reorder or hide text. */
export function oneLine(text: string, limit: number): string {
  const line = text
    .toWellFormed()
    .replace(/[\p{Cc}\p{Z}\s]+/gu, ' ')
    .replace(/\p{Cf}/gu, '')
    .trim();
  return truncate(line, limit);
}

/**
 * Returns the beginning of a text that is only shown, or whose limit exceeds the length of all valid ones; others need
 * `shorten`. A longer text is copied, because a part of a string keeps the whole in memory. Lone surrogates are replaced
 * as in the API server, so that the stored text is the same.
 */
export function clip<T extends string | undefined>(text: T, limit: number): T {
  if (text === undefined || (text.length <= limit && text.isWellFormed())) return text;
  return JSON.parse(JSON.stringify(text.slice(0, limit).toWellFormed()));
}
