/**
 * Delays after a webhook at which a ref that the git server doesn't show is queried again (ms). Servers with replicas
 * send webhooks before each replica shows the ref. After the last query, the ref is absent.
 */
const QUERIES_MS = [2_000, 4_000, 7_000, 11_000, 17_000, 25_000, 38_000, 55_000];

/** Time until the next query (ms); undefined if the last one is already due. */
export function nextQueryInMs(madeAt: number, now: number): number | undefined {
  const sinceMs = Math.max(0, now - madeAt);
  const next = QUERIES_MS.find((query) => query > sinceMs);
  return next === undefined ? undefined : next - sinceMs;
}
