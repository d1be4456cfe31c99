import type { H3Event } from 'h3';
import type { AnnotationQueue } from '../annotations/annotation-queue.ts';
import { isPossibleTarget, keyOf, type Target } from '../annotations/target.ts';
import { classify } from '../sources/classify.ts';
import type { Delivery } from '../sources/delivery.ts';
import { isForm, payloadOfForm } from '../sources/form-payload.ts';
import { parseJsonObject } from '../sources/json-object.ts';
import { type Outcome, type Refusal, refused } from './outcome.ts';
import { type Admitted, headersOf, targetOf } from './request.ts';

export interface DeliverOptions {
  queue: Pick<AnnotationQueue, 'enqueue'>;
  /** Remembers the deliveries that don't have to be handled a second time. */
  replays: { remember(target: string, replayKey: string): void };
}

/** Classifies an authentic delivery, and stores its request or push. */
export function deliver({ queue, replays }: DeliverOptions): (event: H3Event) => Promise<Outcome> {
  return async (event) => {
    const { admitted } = event.context;
    if (!admitted) throw new TypeError('missing authentication context');
    const target = targetOf(event);
    const delivery = classifyAndRelease(event, admitted);
    const outcome = delivery.kind === 'refused' ? delivery : await store(delivery, { queue, target, admitted });
    if (isTaken(outcome) && admitted.replayKey) replays.remember(keyOf(target), admitted.replayKey);
    return outcome;
  };
}

/** Parses the body and releases its memory, so that only the result is kept while the API server responds. */
function classifyAndRelease(event: H3Event, { body }: Admitted): Delivery | Refusal {
  try {
    const headers = headersOf(event);
    if (!isPossibleTarget(targetOf(event))) return refused('NotFound');
    if (!/^(?:identity)?$/i.test(headers['content-encoding'] ?? '')) return refused('EncodedBody');
    const isOfForm = isForm(headers);
    if (!isOfForm && !isJsonType(headers['content-type'])) return refused('NotJson');
    const json = isOfForm ? payloadOfForm(body.bytes) : body.bytes;
    const parsed = json && parseJsonObject(json);
    return parsed ? classify(headers, parsed) : refused('InvalidBody');
  } finally {
    body.release();
  }
}

interface Destination {
  queue: DeliverOptions['queue'];
  target: Target;
  admitted: Admitted;
}

/** Stores the first alternative of a delivery that belongs to the resource's repository. */
async function store(delivery: Delivery, { queue, target, admitted }: Destination): Promise<Outcome> {
  const { source } = delivery;
  if (delivery.kind === 'nothing') return { kind: 'ignored', reason: delivery.reason, source };
  if (delivery.kind === 'invalid') return refused(delivery.reason, { error: delivery.error, source });
  for (const intent of [delivery, ...(delivery.alternatives ?? [])]) {
    const { ref, senderReason } = intent;
    const result = await queue.enqueue(target, { ...intent, source, requestId: admitted.requestId });
    if (result.kind === 'foreign') continue;
    if (result.kind === 'failed') return refused(result.reason, { ...result.details, ref, source });
    return { ...result, ref, source, senderReason };
  }
  return { kind: 'ignored', reason: 'OtherRepository', source, repository: delivery.repository };
}

/** Checks whether a copy would have no effect. `spec.webhook.repositories` may accept another repository by then. */
const isTaken = (outcome: Outcome): boolean =>
  outcome.kind === 'stored' || (outcome.kind === 'ignored' && outcome.reason !== 'OtherRepository');

/** Accepts `application/json` and types with the structured suffix `+json` (RFC 6839), with or without parameters. */
function isJsonType(contentType: string | undefined): boolean {
  return /^application\/(?:[\w.!#$&^-]+\+)?json *(?:;|$)/i.test(contentType ?? '');
}
