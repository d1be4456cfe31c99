/** Returns at most this many UTF-16 code units of a text, with an ellipsis if it is longer. */
export function clip(text: string, limit: number): string {
  return text.length <= limit ? text : `${text.slice(0, limit - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}
