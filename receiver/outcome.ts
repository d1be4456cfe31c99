import type { RequestSource } from '../shared/api/names.ts';
import { NOTHING_REASONS } from './sources/delivery.ts';

/** Reasons for refusals, each with its HTTP status and a message. Reasons are stable, messages aren't. */
export const REFUSALS = {
  MalformedRequest: { status: 400, error: 'malformed request' },
  BrokenOff: { status: 400, error: 'the client aborted the request' },
  TinyPieces: { status: 400, error: 'the body arrives in too many small chunks' },
  InvalidBody: { status: 400, error: 'body must be a JSON object within the size limits' },
  InvalidPayload: { status: 400, error: "payload doesn't match the schema of this event" },
  UnknownPayload: { status: 400, error: 'unrecognized payload: no ref found' },
  InvalidRef: { status: 400, error: "the ref isn't a valid git ref name" },
  Unauthorized: { status: 401, error: 'signature and token are both missing or wrong' },
  Expired: { status: 401, error: "the signature is right, but it wasn't made within the last five minutes" },
  NoSuchPath: { status: 404, error: 'not found; use the path /webhook/NAMESPACE/NAME' },
  NotFound: { status: 404, error: 'GatewaySync not found; check the namespace and name in the path' },
  MethodNotAllowed: { status: 405, error: 'only POST is allowed' },
  TooSlow: { status: 408, error: "the body didn't arrive in time" },
  BodyTooLarge: { status: 413, error: 'the body is too large' },
  NotJson: {
    status: 415,
    error: 'the content type must be application/json, or a form with the event header of a git server',
  },
  EncodedBody: { status: 415, error: 'the body must not be compressed' },
  TooManyFailures: {
    status: 429,
    error: 'too many deliveries without a valid signature or token from this address; try again later',
  },
  TooManyRequests: { status: 429, error: 'too many pending deliveries for this GatewaySync; try again later' },
  InternalError: { status: 500, error: 'internal error' },
  ApiServerRefused: { status: 500, error: "the API server rejected the request; see the receiver's log" },
  Overloaded: { status: 503, error: 'receiver overloaded; try again later' },
  ApiServerUnavailable: { status: 503, error: "the request couldn't be stored in time; try again" },
} as const;

export type RefusalReason = keyof typeof REFUSALS;

/** Reasons to ignore an authentic delivery: it requests nothing, or is a copy of an accepted one. */
export const IGNORED_REASONS = [...NOTHING_REASONS, 'Replayed'] as const;

/** Outcome of a request; `source` is the sender, if known. */
export type Outcome =
  | {
      kind: 'stored';
      ref: string;
      source: RequestSource;
      superseded: boolean;
      /** The whole ID of a request, which its annotation contains. */
      requestId?: string | undefined;
      senderReason?: string | undefined;
    }
  | {
      kind: 'ignored';
      reason: (typeof IGNORED_REASONS)[number];
      source?: RequestSource;
      /** The repository of the delivery, if it isn't the resource's. */
      repository?: string | undefined;
    }
  | Refusal;

/** A refused delivery; `retryAfterSeconds` is set if the same delivery may be accepted later. */
export interface Refusal {
  kind: 'refused';
  reason: RefusalReason;
  /** A more specific message than the reason's. */
  error?: string;
  retryAfterSeconds?: number;
  ref?: string;
  source?: RequestSource;
}

const STRAY_REASONS: readonly string[] = [
  'MalformedRequest',
  'NoSuchPath',
  'MethodNotAllowed',
] satisfies RefusalReason[];

/** Checks whether a request isn't a delivery because of its path or method. */
export const isStray = (outcome: Outcome): outcome is Refusal =>
  outcome.kind === 'refused' && STRAY_REASONS.includes(outcome.reason);

/** Creates a refusal; `Retry-After` requires a delay of at least one second. */
export function refused(
  reason: RefusalReason,
  { retryAfterMs, ...details }: { error?: string; retryAfterMs?: number; ref?: string; source?: RequestSource } = {},
): Refusal {
  const waiting = retryAfterMs === undefined ? {} : { retryAfterSeconds: Math.max(1, Math.ceil(retryAfterMs / 1000)) };
  return { kind: 'refused', reason, ...details, ...waiting };
}

/** Returns the reason why a delivery was ignored, refused, or superseded; empty if it was stored. */
export function reasonOf(outcome: Outcome): string {
  if (outcome.kind === 'stored') return outcome.superseded ? 'Superseded' : '';
  return outcome.reason;
}
