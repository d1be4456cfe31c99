import { isPossible, type ResourceName } from '../../shared/domain/kubernetes/object-name.ts';
import { RateLimit } from '../../shared/domain/limits/rate-limit.ts';
import type { Logger } from '../../shared/log.ts';
import { reasonOf } from '../outcome.ts';
import type { DeliveryHeaders } from '../sources/delivery.ts';
import type { HandledRequest } from './respond.ts';

/** Headers to log: they identify the event and the delivery, and never contain credentials. */
const LOGGED_HEADERS = [
  'user-agent',
  'x-request-id',
  'x-github-event',
  'x-github-delivery',
  'x-gitlab-event',
  'x-gitlab-event-uuid',
  'x-gitea-event',
  'x-gitea-delivery',
  'x-forgejo-event',
  'x-forgejo-delivery',
  'x-gogs-event',
  'x-gogs-delivery',
  'x-event-key',
  'x-request-uuid',
  'webhook-id',
] as const;

const MAX_HEADER_LENGTH = 100;
/** Rate limit of log lines about unauthenticated requests. */
const UNAUTHENTICATED = { perMinute: 600, burst: 10, maxKeys: 1 };

const nowhere: Partial<ResourceName> = {};

/** Creates a function that logs one line per request. From the body, it logs only the ref, even a refused one, and the sender's reason. */
export function createLogResponse(log: Logger): (request: HandledRequest) => void {
  const unauthenticated = new RateLimit(UNAUTHENTICATED);

  return ({ requestId, resource, headers, outcome, seconds }) => {
    if (requestId === undefined && !unauthenticated.take('', performance.now())) return;
    // A path that isn't a valid object name can contain any text.
    const { namespace, name } = isPossible(resource) ? resource : nowhere;
    const fields = {
      requestId,
      namespace,
      name,
      source: outcome.source ?? 'unknown',
      outcome: outcome.kind,
      reason: reasonOf(outcome),
      ref: 'ref' in outcome ? outcome.ref : undefined,
      repository: 'repository' in outcome ? outcome.repository : undefined,
      detail: outcome.kind === 'refused' ? outcome.error || undefined : undefined,
      senderReason: 'senderReason' in outcome ? outcome.senderReason || undefined : undefined,
      durationMs: Math.round(seconds * 1000),
      headers: loggedHeaders(headers),
    };
    log.info(fields, 'delivery answered');
  };
}

function loggedHeaders(headers: DeliveryHeaders): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of LOGGED_HEADERS) {
    const value = headers[name];
    if (value !== undefined) found[name] = value.slice(0, MAX_HEADER_LENGTH);
  }
  return found;
}
