import type { RequestSource } from '../../shared/api/names.ts';
import { NOTHING_REASONS } from '../sources/delivery.ts';

/** Why a delivery is refused: the HTTP status, and a sentence for people. The reason is for programs, and stable. */
export const REFUSALS = {
  MalformedRequest: { status: 400, error: 'malformed request' },
  BrokenOff: { status: 400, error: 'the request broke off' },
  TinyPieces: { status: 400, error: 'the body comes in too many pieces' },
  InvalidBody: { status: 400, error: 'body must be a JSON object within the size limits' },
  InvalidPayload: { status: 400, error: "payload doesn't match the schema of this event" },
  UnknownPayload: { status: 400, error: 'unrecognized payload: no ref found' },
  InvalidRef: { status: 400, error: 'the ref is not a valid git ref name' },
  Unauthorized: { status: 401, error: 'signature and token are both missing or wrong' },
  NoSuchPath: { status: 404, error: 'no such path' },
  NotFound: { status: 404, error: 'no such GatewaySync' },
  MethodNotAllowed: { status: 405, error: 'only POST is allowed' },
  TooSlow: { status: 408, error: 'the body did not arrive in time' },
  BodyTooLarge: { status: 413, error: 'the body is too large' },
  NotJson: { status: 415, error: 'the content type must be application/json' },
  EncodedBody: { status: 415, error: 'the body must not be compressed' },
  TooManyFailures: { status: 429, error: 'too many deliveries from this address had no valid signature or token' },
  TooManyRequests: { status: 429, error: 'too many deliveries for this GatewaySync are waiting' },
  InternalError: { status: 500, error: 'internal error' },
  ApiServerRefused: { status: 500, error: "the API server refused the request for good: the receiver's log says why" },
  Overloaded: { status: 503, error: 'receiver overloaded: try again later' },
  ApiServerUnavailable: { status: 503, error: 'the request could not be stored in time: try again' },
} as const;

export type RefusalReason = keyof typeof REFUSALS;

/** Why nothing came of an authentic delivery: it asks for nothing, or is the copy of one that was taken. */
export const IGNORED_REASONS = [...NOTHING_REASONS, 'Replayed'] as const;

/** What became of a request; `source` is the sender, as far as it was found out. */
export type Outcome =
  | { kind: 'stored'; ref: string; source: RequestSource; superseded: boolean; senderReason?: string | undefined }
  | {
      kind: 'ignored';
      reason: (typeof IGNORED_REASONS)[number];
      source?: RequestSource;
      /** The repository that the delivery is about, if it is another one. */
      repository?: string | undefined;
    }
  | Refusal;

/** A delivery that is refused; `retryAfterSeconds` where the same delivery may be accepted later. */
export interface Refusal {
  kind: 'refused';
  reason: RefusalReason;
  /** Says more than the sentence that belongs to the reason. */
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

/** Whether a request was no delivery: another path or another method. */
export const isStray = (outcome: Outcome): outcome is Refusal =>
  outcome.kind === 'refused' && STRAY_REASONS.includes(outcome.reason);

/** Makes a refusal; seconds to wait are at least one, as `Retry-After` tells them. */
export function refused(
  reason: RefusalReason,
  { retryAfterMs, ...details }: { error?: string; retryAfterMs?: number; ref?: string; source?: RequestSource } = {},
): Refusal {
  const waiting = retryAfterMs === undefined ? {} : { retryAfterSeconds: Math.max(1, Math.ceil(retryAfterMs / 1000)) };
  return { kind: 'refused', reason, ...details, ...waiting };
}

/** Why a delivery was ignored, refused or superseded; empty where it was stored. */
export function reasonOf(outcome: Outcome): string {
  if (outcome.kind === 'stored') return outcome.superseded ? 'Superseded' : '';
  return outcome.reason;
}
