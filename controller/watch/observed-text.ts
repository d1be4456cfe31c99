/**
 * The beginning of a text that anybody may have written at any length, as it fits into status. A copy: a part of a
 * string keeps the whole of it in memory. Half of a surrogate pair would come back from the API server as another text.
 */
export function clip<T extends string | undefined>(text: T, length: number): T {
  if (text === undefined || text.length <= length) return text;
  return JSON.parse(JSON.stringify(text.slice(0, length).toWellFormed()));
}
