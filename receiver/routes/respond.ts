import type { H3Event, Middleware } from 'h3';
import type { ResourceName } from '../../shared/domain/kubernetes/object-name.ts';
import { discard } from '../../shared/io/http/read-body.ts';
import type { Logger } from '../../shared/log.ts';
import { type Outcome, REFUSALS, type Refusal, refused } from '../outcome.ts';
import { hasMalformedPath, headersOf, nodeRequestOf, resourceOf, secondsSinceArrival } from '../request.ts';
import type { DeliveryHeaders } from '../sources/delivery.ts';

/** A handled request, for the log and the metrics. */
export interface HandledRequest {
  /** Undefined if the request wasn't authenticated. */
  requestId: string | undefined;
  resource: ResourceName;
  headers: DeliveryHeaders;
  outcome: Outcome;
  seconds: number;
}

export interface RespondOptions {
  log: Logger;
  onResponse: (request: HandledRequest) => void;
}

/** The body of every response, as JSON, which omits undefined fields. */
interface ResponseBody {
  accepted: boolean;
  [field: string]: unknown;
}

/** Turns a route's outcome into a response, a log line, and a metric. Errors result in `InternalError`. */
export function respond({ log, onResponse }: RespondOptions): Middleware {
  return async (event, next) => {
    let outcome: Outcome;
    try {
      outcome = hasMalformedPath(event) ? refused('MalformedRequest') : ((await next()) as Outcome);
    } catch (err) {
      log.error({ err }, 'request not handled');
      outcome = refused('InternalError');
    }
    onResponse({
      requestId: requestIdOf(event, outcome),
      resource: resourceOf(event),
      headers: headersOf(event),
      outcome,
      seconds: secondsSinceArrival(event),
    });
    return responseTo(event, outcome);
  };
}

/** Returns the ID of an authenticated delivery. */
function requestIdOf({ context: { authenticated } }: H3Event, outcome: Outcome): string | undefined {
  return (outcome.kind === 'stored' ? outcome.requestId : undefined) ?? authenticated?.requestId;
}

/** Sets the status and headers of an outcome, and returns the body as JSON or as an object for h3. */
function responseTo(event: H3Event, outcome: Outcome): ResponseBody | string {
  const requestId = requestIdOf(event, outcome);
  switch (outcome.kind) {
    case 'stored': {
      const { ref, source, superseded } = outcome;
      event.res.status = 202;
      return { accepted: true, ref, source, requestId, superseded: superseded || undefined };
    }
    case 'ignored': {
      const { reason, source, repository } = outcome;
      return { accepted: false, reason, source, repository, requestId };
    }
    case 'refused': {
      const request = nodeRequestOf(event);
      // Node would otherwise receive an unread body without a limit.
      if (!request.complete && request.readableFlowing === null) discard(request);
      const { status, error } = REFUSALS[outcome.reason];
      event.res.status = status;
      const body = { accepted: false, reason: outcome.reason, error: outcome.error ?? error, requestId };
      const headers = headersFor(outcome);
      if (headers.length === 0) return body;
      // Text, because h3 copies these headers and its own into a third object for an object body.
      for (const [name, value] of [JSON_TYPE, ...headers]) event.res.headers.set(name, value);
      return JSON.stringify(body);
    }
  }
}

const JSON_TYPE: [string, string] = ['Content-Type', 'application/json;charset=UTF-8'];

/** The token is accepted as a bearer token and as a password (RFC 6750, RFC 7617). */
const CHALLENGES = 'Bearer realm="webhook", Basic realm="webhook", charset="UTF-8"';

function headersFor({ reason, retryAfterSeconds }: Refusal): [string, string][] {
  const found: [string, string][] = [];
  if (retryAfterSeconds !== undefined) found.push(['Retry-After', String(retryAfterSeconds)]);
  if (reason === 'TooSlow' || reason === 'TinyPieces') found.push(['Connection', 'close']);
  if (REFUSALS[reason].status === 401) found.push(['WWW-Authenticate', CHALLENGES]);
  if (reason === 'MethodNotAllowed') found.push(['Allow', 'POST']);
  return found;
}
