import type { H3Event } from 'h3';
import type { Stamp, StoreResult } from '../annotations/annotation-queue.ts';
import { annotationsOf } from '../annotations/annotations-of.ts';
import { isPossibleTarget, type Target } from '../annotations/target.ts';
import { classify } from '../sources/classify.ts';
import type { Delivery } from '../sources/delivery.ts';
import { parseJsonObject } from '../sources/json-object.ts';
import { type Outcome, type Refusal, refused } from './outcome.ts';
import { type Admitted, headersOf, targetOf } from './request.ts';

export interface DeliverOptions {
  /** Stores what a delivery asks for. */
  store: (target: Target, stamp: Stamp) => Promise<StoreResult>;
  /** Called for a delivery that does not have to be taken a second time. */
  onTaken: (target: Target, replayKey: string) => void;
}

/** Finds out what an authentic delivery asks for, and stores that. */
export function deliver({ store, onTaken }: DeliverOptions): (event: H3Event) => Promise<Outcome> {
  return async (event) => {
    const { admitted } = event.context;
    if (!admitted) throw new TypeError('nobody let this delivery in');
    const delivery = read(event, admitted);
    const outcome =
      delivery.kind === 'refused'
        ? delivery
        : await follow(delivery, (stamp) => store(targetOf(event), stamp), admitted);
    if (isTaken(outcome) && admitted.replayKey) onTaken(targetOf(event), admitted.replayKey);
    return outcome;
  };
}

/** Reads the body and lets go of it: while the API server is waited for, only what the delivery asks for is kept. */
function read(event: H3Event, { body }: Admitted): Delivery | Refusal {
  try {
    const headers = headersOf(event);
    if (!isPossibleTarget(targetOf(event))) return refused('NotFound');
    if (!/^(?:identity)?$/i.test(headers['content-encoding'] ?? '')) return refused('EncodedBody');
    if (!isJsonType(headers['content-type'])) return refused('NotJson');
    const parsed = parseJsonObject(body.bytes);
    return parsed ? classify(headers, parsed) : refused('InvalidBody');
  } finally {
    body.release();
  }
}

async function follow(
  delivery: Delivery,
  store: (stamp: Stamp) => Promise<StoreResult>,
  { requestId }: Admitted,
): Promise<Outcome> {
  const { source } = delivery;
  if (delivery.kind === 'nothing') return { kind: 'ignored', reason: delivery.reason, source };
  if (delivery.kind === 'invalid') return refused(delivery.reason, { error: delivery.error, source });
  for (const wanted of [delivery, ...(delivery.alternatives ?? [])]) {
    const { ref, senderReason } = wanted;
    const result = await store((at) => annotationsOf({ ...wanted, source }, { requestId, at }));
    if (result.kind === 'foreign') continue;
    if (result.kind === 'failed') return refused(result.reason, { ...result.details, ref, source });
    return { kind: 'stored', ref, source, superseded: result.superseded, senderReason };
  }
  return { kind: 'ignored', reason: 'OtherRepository', source, repository: delivery.repository };
}

/** Whether a copy would change nothing: `spec.webhook.repositories` may accept a refused repository by then. */
const isTaken = (outcome: Outcome): boolean =>
  outcome.kind === 'stored' || (outcome.kind === 'ignored' && outcome.reason !== 'OtherRepository');

/** `application/json` and everything with the structured suffix `+json` (RFC 6839), with or without parameters. */
function isJsonType(contentType: string | undefined): boolean {
  return /^application\/(?:[\w.!#$&^-]+\+)?json *(?:;|$)/i.test(contentType ?? '');
}
