/**
 * Times at which a git server is queried again for a ref that it does not show, after the webhook was made (ms). Servers
 * with replicas send webhooks before each replica shows the ref; after the last query it counts as absent.
 */
const QUERIES_MS = [2_000, 4_000, 7_000, 11_000, 17_000, 25_000, 38_000, 55_000];

/** Milliseconds until the next query; undefined if the last one is already due. */
export function nextQueryInMs(madeAt: number, now: number): number | undefined {
  const sinceMs = Math.max(0, now - madeAt);
  const next = QUERIES_MS.find((query) => query > sinceMs);
  return next === undefined ? undefined : next - sinceMs;
}
