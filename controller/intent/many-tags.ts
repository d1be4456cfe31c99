import { parseDuration } from '../../shared/domain/text/duration.ts';
import { type FoundRefs, MANY_TAGS, tagTotal } from '../polling/query-result.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';

/** The end of a message about a resource that is polled less often than its interval; empty otherwise. */
export function slowedWords({ polling }: ObservedGatewaySync['spec'], found: FoundRefs | undefined): string {
  const isShort = (parseDuration(polling.interval) ?? 0) < MANY_TAGS.intervalMs;
  if (!polling.enabled || !isShort || tagTotal(found) <= MANY_TAGS.tags) return '';
  return `; the repository has more than ${MANY_TAGS.tags} tags, so it is polled every 5m and not every ${polling.interval}`;
}
