/** RFC 3339. */
const STAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i;

const FIRST = Date.parse('0001-01-01T00:00:00Z');

/** The last time that the API server stores, in milliseconds since the epoch. */
export const LAST_TIME = Date.parse('9999-12-31T23:59:59.999Z');

/**
 * Reads a time that somebody states, in milliseconds since the epoch. Undefined for what is none, and for one outside
 * the years 1 to 9999, as an offset can make it: a status with that would be refused as a whole.
 */
export function readStatedTime(text: string): number | undefined {
  const time = STAMP.test(text) ? Date.parse(text) : Number.NaN;
  return time >= FIRST && time <= LAST_TIME ? time : undefined;
}
