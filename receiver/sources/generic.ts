import * as v from 'valibot';
import { isDeletion } from './git-host-events.ts';
import { fieldOf } from './json-object.ts';
import { asksFor, event, looseText, nothing, sender } from './read-event.ts';
import { repositoryOfGeneric } from './repositories.ts';

const MAX_REASON_LENGTH = 200;

const readRef = event(v.object({ ref: v.string(), reason: looseText }), ({ ref, reason }) => {
  const reading = asksFor(ref);
  if ((reading.kind !== 'request' && reading.kind !== 'push') || !reason) return reading;
  return { ...reading, senderReason: shortened(reason) };
});

/**
 * Any sender that puts a `ref` at the top of the body; also a push of a git host that is not known by its headers. The
 * `reason` is for the people who read the log.
 */
export const readGeneric = sender(
  'generic',
  (_headers, body) => {
    if (isDeletion(body)) return nothing('Deleted');
    return fieldOf(body, 'ref') === undefined ? undefined : readRef(body);
  },
  repositoryOfGeneric,
);

/** A copy: a part of a string keeps the whole of it in memory, and this one is kept while it is stored. */
function shortened(reason: string): string {
  return Buffer.from(reason.slice(0, MAX_REASON_LENGTH)).toString();
}
