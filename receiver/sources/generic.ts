import type { Delivery, DeliveryHeaders } from './delivery.ts';
import { extractRef } from './extract-ref.ts';
import { isDeletion } from './is-deletion.ts';
import { fieldOf, type JsonObject } from './json-object.ts';

const MAX_REASON_LENGTH = 200;

/**
 * Any sender that puts a `ref` at the top of the body; also a push of a git host that is not known by its headers.
 * What stands in `reason` is for the people who read the log.
 */
export function readGeneric(_headers: DeliveryHeaders, body: JsonObject): Delivery | undefined {
  if (isDeletion(body)) return { kind: 'nothing', reason: 'Deleted', source: 'generic' };
  const delivery = extractRef(fieldOf(body, 'ref'), 'generic');
  const reason = fieldOf(body, 'reason');
  if (delivery?.kind !== 'request' && delivery?.kind !== 'push') return delivery;
  if (typeof reason !== 'string' || reason === '') return delivery;
  return { ...delivery, senderReason: reason.slice(0, MAX_REASON_LENGTH) };
}
