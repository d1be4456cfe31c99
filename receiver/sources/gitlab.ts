import * as v from 'valibot';
import type { DeliveryHeaders, Reading } from './delivery.ts';
import { eventTime } from './event-time.ts';
import { readPushedRef } from './git-host-events.ts';
import { fieldOf, type JsonObject } from './json-object.ts';
import { asksFor, event, looseText, madeAt, nothing, sender, text } from './read-event.ts';
import { repositoryOfGitLab } from './repositories.ts';

/** Maximum time from the creation of a published release to its date (ms). */
const UPCOMING_MS = 60_000;

const readRelease = event(
  v.object({ action: text, tag: text, created_at: looseText, released_at: looseText }),
  ({ action, tag, created_at, released_at }) => {
    if (action === 'delete') return nothing('Deleted');
    // A release can be created with a future date, on which GitLab sends no event.
    const isUpcoming = Date.parse(released_at ?? '') > Date.parse(created_at ?? '') + UPCOMING_MS;
    if (action !== 'create' || isUpcoming) return nothing('NotPublished');
    // Users can change the release date, but not this one.
    return madeAt(eventTime(created_at), asksFor(tag));
  },
);

/**
 * Reads a delivery with GitLab's event header. The kind in the body determines the event, because system hooks share one
 * header, and the button 'Test' sends a kind that differs from its header.
 * https://docs.gitlab.com/user/project/integrations/webhook_events/
 */
export const readGitLabEvent = sender('gitlab', readEvent, repositoryOfGitLab);

function readEvent(headers: DeliveryHeaders, body: JsonObject): Reading | undefined {
  if (!headers['x-gitlab-event']) return undefined;
  switch (fieldOf(body, 'object_kind') ?? fieldOf(body, 'event_name')) {
    case 'push':
    case 'tag_push':
      return readPushedRef(body);
    case 'release':
      return readRelease(body);
    default:
      return nothing('EventIgnored');
  }
}
