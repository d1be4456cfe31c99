import type { H3Event } from 'h3';
import { isPossible, keyOf, type ResourceName } from '../../shared/domain/kubernetes/object-name.ts';
import type { AnnotationQueue } from '../annotations/annotation-queue.ts';
import { type Outcome, refused } from '../outcome.ts';
import { type Authenticated, headersOf, resourceOf } from '../request.ts';
import { classify } from '../sources/classify.ts';
import type { Delivery, Sender } from '../sources/delivery.ts';
import { isForm, payloadOfForm } from '../sources/form-payload.ts';
import { parseJsonObject } from '../sources/json-object.ts';

export interface DeliverOptions {
  queue: Pick<AnnotationQueue, 'enqueue'>;
  /** Remembers the deliveries that don't have to be handled a second time. */
  replays: { remember(resource: string, replayKey: string): void };
}

/** Classifies an authentic delivery, and stores its request or push. */
export function deliver({ queue, replays }: DeliverOptions): (event: H3Event) => Promise<Outcome> {
  return async (event) => {
    const { authenticated } = event.context;
    if (!authenticated) throw new TypeError('missing authentication context');
    const { requestId, replayKey } = authenticated;
    const resource = resourceOf(event);
    const classified = classifyAndRelease(event, authenticated);
    const isDelivery = classified.kind === 'request' || classified.kind === 'push';
    const outcome = isDelivery ? await store(queue, resource, { ...classified, requestId }) : classified;
    if (replayKey && ignoresCopies(outcome)) replays.remember(keyOf(resource), replayKey);
    return outcome;
  };
}

/** Parses the body and releases its memory, so that only the result is kept while the API server responds. */
function classifyAndRelease(
  event: H3Event,
  { body }: Authenticated,
): (Delivery & Pick<Sender, 'source'>) | Exclude<Outcome, { kind: 'stored' }> {
  try {
    const headers = headersOf(event);
    if (!isPossible(resourceOf(event))) return refused('NotFound');
    if (!/^(?:identity)?$/i.test(headers['content-encoding'] ?? '')) return refused('EncodedBody');
    const isOfForm = isForm(headers);
    if (!isOfForm && !isJsonType(headers['content-type'])) return refused('NotJson');
    const json = isOfForm ? payloadOfForm(body.bytes) : body.bytes;
    const parsed = json && parseJsonObject(json);
    if (!parsed) return refused('InvalidBody');
    const classified = classify(headers, parsed);
    const { source } = classified;
    if (classified.kind === 'invalid') return refused(classified.reason, { error: classified.error, source });
    return classified.kind === 'nothing' ? { kind: 'ignored', reason: classified.reason, source } : classified;
  } finally {
    body.release();
  }
}

/** Stores the first alternative of a delivery that belongs to the resource's repository. */
async function store(
  queue: DeliverOptions['queue'],
  resource: ResourceName,
  delivery: Delivery & Sender,
): Promise<Outcome> {
  const { source, requestId, repository, alternatives = [] } = delivery;
  for (const each of [delivery, ...alternatives]) {
    const outcome = await queue.enqueue(resource, { ...each, source, requestId });
    if (outcome.kind === 'refused') return { ...outcome, ref: each.ref, source };
    if (outcome.kind === 'stored') return outcome;
  }
  return { kind: 'ignored', reason: 'OtherRepository', source, repository };
}

/** A copy would have no effect, unless `spec.webhook.repositories` accepts another repository by then. */
const ignoresCopies = (outcome: Outcome): boolean =>
  outcome.kind === 'stored' || (outcome.kind === 'ignored' && outcome.reason !== 'OtherRepository');

/** Accepts `application/json` and types with the structured suffix `+json` (RFC 6839), with or without parameters. */
function isJsonType(contentType: string | undefined): boolean {
  return /^application\/(?:[\w.!#$&^-]+\+)?json *(?:;|$)/i.test(contentType ?? '');
}
