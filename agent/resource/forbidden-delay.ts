/** So many refusals in a row are expected: the controller grants the rights when it sees the pod. */
const EXPECTED = 30;
const MS = { base: 1_000, max: 60_000 };

/**
 * Milliseconds before the next try after so many 403s in a row. Rights that do not come are those of a GatewaySync that
 * is gone: the API server is not to be asked each second for ever.
 */
export function forbiddenDelay(refusals: number): number {
  return Math.min(MS.max, MS.base * 2 ** Math.max(0, refusals - EXPECTED));
}
