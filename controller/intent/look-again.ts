/**
 * When a host is asked again for a ref that it does not show, in milliseconds after the webhook was made. Hosts with
 * replicas send webhooks before each replica shows the ref; after the last look it has none.
 */
const LOOKS_MS = [2_000, 4_000, 7_000, 11_000, 17_000, 25_000, 38_000, 55_000];

/** Milliseconds until the next look; undefined where the last one is due already. */
export function nextLookInMs(madeAt: number, now: number): number | undefined {
  const sinceMs = Math.max(0, now - madeAt);
  const next = LOOKS_MS.find((look) => look > sinceMs);
  return next === undefined ? undefined : next - sinceMs;
}
