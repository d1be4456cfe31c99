/** So many gateways of one resource may start at once without a host noticing. */
const FREE_GATEWAYS = 20;
const SPREAD_MS = { perGateway: 10, max: 10_000 };

/** Milliseconds before a fetch, so that hundreds of agents of one resource do not ask the host in one moment. */
export function fetchDelay(gateways: number, random: number): number {
  return gateways <= FREE_GATEWAYS ? 0 : random * Math.min(SPREAD_MS.max, gateways * SPREAD_MS.perGateway);
}
