/** Number of gateways of one resource that can fetch at the same time without overloading a server. */
const FREE_GATEWAYS = 20;
const SPREAD_MS = { perGateway: 10, max: 10_000 };

/** Returns the delay before a fetch (ms), so that hundreds of agents of one resource don't query the server at once. */
export function fetchDelay(gateways: number, random: number): number {
  return gateways <= FREE_GATEWAYS ? 0 : random * Math.min(SPREAD_MS.max, gateways * SPREAD_MS.perGateway);
}

/** Delays of retries after failed syncs, previews, and notifications of the gateway. */
export const RETRY_BACKOFF = { baseMs: 1_000, maxMs: 60_000, jitter: 0.5 };
