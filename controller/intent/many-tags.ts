import { parseDuration } from '../../shared/domain/text/duration.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import { type AdvertisedRefs, TAG_COUNT } from './resolve-ref.ts';

/** Above this number of tags, ranges are polled less often, because each poll fetches all tags. */
export const MANY_TAGS = { tags: 5_000, intervalMs: 300_000 };

/** Whether a range query found too many tags to repeat it more often than every five minutes. */
export const hasManyTags = (refs: AdvertisedRefs | undefined): boolean =>
  Number(refs?.get(TAG_COUNT) ?? 0) > MANY_TAGS.tags;

/** The end of a message about a resource that is polled less often than its interval; empty otherwise. */
export function slowedWords({ polling }: ObservedGatewaySync['spec'], refs: AdvertisedRefs | undefined): string {
  const isShort = (parseDuration(polling.interval) ?? 0) < MANY_TAGS.intervalMs;
  if (!polling.enabled || !isShort || !hasManyTags(refs)) return '';
  return `; the repository has more than ${MANY_TAGS.tags} tags, so it is polled every 5m and not every ${polling.interval}`;
}
