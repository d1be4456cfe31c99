/** Bounds of the time before a failed sync is tried again, in milliseconds. */
const BACKOFF_MS = { base: 1_000, max: 60_000 };
/** So many gateways of one resource may start at once without a host noticing. */
const FREE_GATEWAYS = 20;
const SPREAD_MS = { perGateway: 10, max: 10_000 };

/** Milliseconds before the next try: exponential with jitter over its upper half. `random` is between 0 and 1. */
export function retryDelay(failures: number, random: number): number {
  const ceiling = Math.min(BACKOFF_MS.max, BACKOFF_MS.base * 2 ** (failures - 1));
  return ceiling * (0.5 + random / 2);
}

/** Milliseconds before a fetch, so that hundreds of agents of one resource do not ask the host in one moment. */
export function fetchDelay(gateways: number, random: number): number {
  return gateways <= FREE_GATEWAYS ? 0 : random * Math.min(SPREAD_MS.max, gateways * SPREAD_MS.perGateway);
}
