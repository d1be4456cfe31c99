import { RateLimit } from '../../shared/domain/rate-limit.ts';
import type { Logger } from '../../shared/log.ts';
import { isPossibleTarget, type Target } from '../annotations/target.ts';
import type { DeliveryHeaders } from '../sources/delivery.ts';
import { reasonOf } from './outcome.ts';
import type { HandledRequest } from './respond.ts';

/** Headers that a log line may hold: they name the event and the delivery, never what authenticates it. */
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
/** Log lines for unauthenticated requests: a flood of them must not become a flood of lines. */
const STRANGERS = { perMinute: 600, burst: 10, maxKeys: 1 };

const nowhere: Partial<Target> = {};

/** Makes the function that writes one line for each request; nothing of its body but the ref, also one that is refused, and the sender's reason. */
export function createLogResponse(log: Logger): (request: HandledRequest) => void {
  const strangers = new RateLimit(STRANGERS);

  return ({ requestId, target, headers, outcome, seconds }) => {
    if (requestId === undefined && !strangers.take('', performance.now())) return;
    // A path that names no possible object holds whatever somebody wrote there.
    const { namespace, name } = isPossibleTarget(target) ? target : nowhere;
    const fields = {
      requestId,
      namespace,
      name,
      source: outcome.source ?? 'unknown',
      outcome: outcome.kind,
      reason: reasonOf(outcome),
      ref: 'ref' in outcome ? outcome.ref : undefined,
      repository: 'repository' in outcome ? outcome.repository : undefined,
      error: outcome.kind === 'refused' && outcome.error ? printable(outcome.error) : undefined,
      senderReason: 'senderReason' in outcome && outcome.senderReason ? printable(outcome.senderReason) : undefined,
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
    if (value !== undefined) found[name] = printable(value.slice(0, MAX_HEADER_LENGTH));
  }
  return found;
}

/** Without what a terminal would obey: control characters, changes of direction and the like. */
function printable(text: string): string {
  return text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}
