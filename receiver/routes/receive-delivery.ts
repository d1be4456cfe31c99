import type { RequestSource } from '../../shared/api/names.ts';
import type { Stamp, Stored } from '../annotations/annotation-queue.ts';
import { annotationsOf } from '../annotations/annotations-of.ts';
import { isPossibleTarget, type Target } from '../annotations/target.ts';
import type { Admitted } from '../authentication/admit-delivery.ts';
import { classify } from '../sources/classify.ts';
import type { NothingReason } from '../sources/delivery.ts';
import { parseJsonObject } from '../sources/json-object.ts';
import { type Refusal, refused } from './refusals.ts';

/** What became of a delivery. */
export type Outcome =
  | { kind: 'stored'; ref: string; source: RequestSource; superseded: boolean; senderReason?: string }
  | { kind: 'ignored'; reason: NothingReason; source: RequestSource }
  | (Refusal & { ref?: string; source?: RequestSource });

/** Stores what a delivery asks for. */
export type Store = (target: Target, stamp: Stamp) => Promise<Stored>;

/** Finds out what an authentic delivery asks for and stores that. */
export async function receiveDelivery(store: Store, admitted: Admitted): Promise<Outcome> {
  const { requestId, target, headers, body } = admitted;
  if (!isPossibleTarget(target)) return refused('NotFound');
  if (!isJsonType(headers['content-type'])) return refused('NotJson');
  const parsed = parseJsonObject(body);
  if (!parsed) return refused('InvalidBody');

  const delivery = classify(headers, parsed);
  const { source } = delivery;
  if (delivery.kind === 'invalid') return { ...refused('InvalidRef', { error: delivery.error }), source };
  if (delivery.kind === 'nothing') return { kind: 'ignored', reason: delivery.reason, source };

  const { ref, senderReason } = delivery;
  const stored = await store(target, (at) => annotationsOf(delivery, { requestId, at }));
  return { ...stored, ref, source, ...(senderReason === undefined ? {} : { senderReason }) };
}

/** `application/json` and everything with the structured suffix `+json` (RFC 6839), with or without parameters. */
function isJsonType(contentType: string | undefined): boolean {
  return /^application\/(?:[\w.!#$&^-]+\+)?json *(?:;|$)/i.test(contentType ?? '');
}
