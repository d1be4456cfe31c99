import * as v from 'valibot';
import { clip } from '../../shared/domain/text/text.ts';
import { isDeletion, isFromGitServer, readPush } from './git-host-events.ts';
import { fieldOf } from './json-object.ts';
import { asksFor, event, looseText, nothing, sender } from './read-event.ts';
import { repositoryOfGeneric } from './repositories.ts';

const MAX_REASON_LENGTH = 200;

const readRef = event(v.object({ ref: v.string(), reason: looseText }), ({ ref, reason }) => {
  const reading = asksFor(ref);
  if ((reading.kind !== 'request' && reading.kind !== 'push') || !reason) return reading;
  return { ...reading, senderReason: clip(reason, MAX_REASON_LENGTH) };
});

/**
 * Reads a delivery of any sender with a top-level `ref`. A body of a git server must be a push, because it can be a copy
 * of another event without its header. The `reason` is for the log.
 */
export const readGeneric = sender(
  'generic',
  (_headers, body) => {
    if (isDeletion(body)) return nothing('Deleted');
    if (fieldOf(body, 'ref') === undefined) return undefined;
    return isFromGitServer(body) ? readPush(body) : readRef(body);
  },
  repositoryOfGeneric,
);
