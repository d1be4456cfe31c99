import type { V1Status } from '@kubernetes/client-node';
import { retryAfterMs } from '../../domain/text/duration.ts';
import { CodedError } from '../../errors.ts';

/** Maximum pause that a server can request, because its reason can be outdated after that. */
const MAX_WAIT_MS = 60_000;

/** Error status from the API server. */
export class ApiError extends CodedError {
  readonly status: number;
  /** Reason of the Status object, such as `NotFound` or `AlreadyExists`; empty without one. */
  readonly reason: string;
  /** Name of the Status's object. */
  readonly objectName: string | undefined;
  /** Messages of the causes: each problem of an invalid object, or the policy that rejected it. */
  readonly causes: readonly string[];
  /** Pause that the API server requested, at most an hour. */
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

/** Returns the result of a call, or undefined if the API server responds with this status. */
export async function unlessStatus<T>(status: number, call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (isApiError(error, status)) return undefined;
    throw error;
  }
}

/** Returns the pause that the API server requests (ms), at most a minute, or 0. */
export function askedPauseMs(error: unknown): number {
  return isApiError(error) ? Math.min(error.retryAfterMs ?? 0, MAX_WAIT_MS) : 0;
}

/** Whether the same call may succeed later: a conflict, too many requests, a server error or a broken connection. */
export function isRetryable(error: unknown): boolean {
  return error instanceof ApiError ? [409, 429].includes(error.status) || error.status >= 500 : true;
}
