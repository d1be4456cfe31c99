import type { Delivery, DeliveryHeaders, NothingReason } from './delivery.ts';
import { extractRef } from './extract-ref.ts';
import { fieldOf, type JsonObject } from './json-object.ts';
import { readPush } from './read-push.ts';

/** How much later than its creation a release may be dated and still count as published, in milliseconds. */
const UPCOMING_MS = 60_000;

/**
 * A delivery with GitLab's event header; undefined without it. The kind in the body decides between the events, since
 * system hooks come under one header and the button 'Test' sends another kind than its header says.
 * https://docs.gitlab.com/user/project/integrations/webhook_events/
 */
export function readGitLabEvent(headers: DeliveryHeaders, body: JsonObject): Delivery | undefined {
  if (!headers['x-gitlab-event']) return undefined;
  switch (fieldOf(body, 'object_kind') ?? fieldOf(body, 'event_name')) {
    case 'push':
    case 'tag_push':
      return readPush(body, 'gitlab');
    case 'release':
      return readGitLabRelease(body);
    default:
      return nothing('EventIgnored');
  }
}

function readGitLabRelease(body: JsonObject): Delivery {
  const action = fieldOf(body, 'action');
  if (action === 'delete') return nothing('Deleted');
  if (action !== 'create' || isUpcoming(body)) return nothing('NotPublished');
  return extractRef(fieldOf(body, 'tag'), 'gitlab') ?? nothing('NoRef');
}

/** A release may be created with a date in the future; GitLab tells nobody when that comes. */
function isUpcoming(body: JsonObject): boolean {
  const createdAt = Date.parse(String(fieldOf(body, 'created_at')));
  const releasedAt = Date.parse(String(fieldOf(body, 'released_at')));
  return releasedAt > createdAt + UPCOMING_MS;
}

function nothing(reason: NothingReason): Delivery {
  return { kind: 'nothing', reason, source: 'gitlab' };
}
