import { type AdvertisedRefs, TAG_COUNT } from './resolve-ref.ts';

/** Above this number of tags, ranges are polled less often, because each poll fetches all tags. */
export const MANY_TAGS = { tags: 5_000, intervalMs: 300_000 };

/** Whether a range query found too many tags to repeat it more often than every five minutes. */
export const hasManyTags = (refs: AdvertisedRefs | undefined): boolean =>
  Number(refs?.get(TAG_COUNT) ?? 0) > MANY_TAGS.tags;
