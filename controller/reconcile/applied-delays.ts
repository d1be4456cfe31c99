import type { GatewaySyncStatus } from '../../shared/api/gateway-sync-status.ts';

/**
 * Seconds from a request and from a push until now, for each of the two that this status is the first to call applied.
 * Nothing for one whose time cannot be read, and 0 for one that is ahead of our clock.
 */
export function appliedDelays(before: GatewaySyncStatus, after: GatewaySyncStatus, now: number): number[] {
  const kinds = [
    { was: before.lastRequest, is: after.lastRequest },
    { was: before.lastPush, is: after.lastPush },
  ];
  return kinds.flatMap(({ was, is }) => {
    const isNews = is?.outcome === 'Applied' && JSON.stringify(is) !== JSON.stringify(was);
    const at = isNews ? Date.parse(is.at ?? '') : Number.NaN;
    return Number.isNaN(at) ? [] : [Math.max(0, now - at) / 1000];
  });
}
