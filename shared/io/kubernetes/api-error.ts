import type { V1Status } from '@kubernetes/client-node';
import { retryAfterMs } from '../../domain/duration.ts';
import { CodedError } from '../../errors.ts';

/** The longest pause that a server may ask for: after it, what it said may no longer be so. */
const MOST_PATIENCE_MS = 60_000;

/** The API server answered with an error status. */
export class ApiError extends CodedError {
  readonly status: number;
  /** Reason of the Status object, such as `NotFound` or `AlreadyExists`; empty where the answer was no Status. */
  readonly reason: string;
  /** Name of the object that the Status is about. */
  readonly objectName: string | undefined;
  /** Messages of the single causes: each problem of an invalid object, or the policy that refused it. */
  readonly causes: readonly string[];
  /** What the API server asked for, an hour at most. */
  readonly retryAfterMs: number | undefined;

  constructor(status: number, body: string, retryAfter?: string) {
    const parsed = parseStatus(body);
    super(parsed.message ?? `the API server responded with ${status}`, `api.${status}`);
    this.name = 'ApiError';
    this.status = status;
    this.reason = parsed.reason ?? '';
    this.objectName = parsed.details?.name;
    this.causes = (parsed.details?.causes ?? []).map(({ message }) => String(message ?? ''));
    const now = Date.now();
    this.retryAfterMs = retryAfterMs(retryAfter, now) ?? retryAfterMs(parsed.details?.retryAfterSeconds, now);
  }
}

function parseStatus(body: string): V1Status {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null ? (value as V1Status) : {};
  } catch {
    return {};
  }
}

/** Whether the error is an {@link ApiError} with one of these HTTP status codes. */
export function isApiError(error: unknown, ...statuses: number[]): error is ApiError {
  return error instanceof ApiError && (statuses.length === 0 || statuses.includes(error.status));
}

/** Milliseconds for which the API server asks to be left alone, a minute at most; 0 where it does not. */
export function askedPauseMs(error: unknown): number {
  return isApiError(error) ? Math.min(error.retryAfterMs ?? 0, MOST_PATIENCE_MS) : 0;
}

/** Whether the same call may succeed later: a conflict, too many requests, a server error or a broken connection. */
export function isRetryable(error: unknown): boolean {
  return error instanceof ApiError ? [409, 429].includes(error.status) || error.status >= 500 : true;
}
