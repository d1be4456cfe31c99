/** RFC 3339. */
const STAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i;

const FIRST = Date.parse('0001-01-01T00:00:00Z');

/** The last time that the API server stores (ms since the epoch). */
export const LAST_TIME = Date.parse('9999-12-31T23:59:59.999Z');

/**
 * Reads a time stated by a user (ms since the epoch). Undefined for an invalid one, or one outside the years 1 to 9999
 * (an offset can cause that), because the API server would refuse the whole status.
 */
export function readStatedTime(text: string): number | undefined {
  const time = STAMP.test(text) ? Date.parse(text) : Number.NaN;
  return time >= FIRST && time <= LAST_TIME ? time : undefined;
}
