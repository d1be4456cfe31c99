import { codeOf } from '../../shared/errors.ts';
import { ApiError, isApiError, isRetryable } from '../../shared/io/kubernetes/api-error.ts';
import { type Part, TIME_ANNOTATIONS } from './annotations-of.ts';
import type { Target } from './target.ts';

/** What a failed patch means. */
export type Failure =
  | { kind: 'missing' }
  /** Something newer than this part is stored. */
  | { kind: 'superseded'; part: Part }
  /** The delivery is about another repository than the resource. */
  | { kind: 'foreign' }
  | { kind: 'retry'; afterMs: number }
  /** The right is missing: for good, or because the API server has just started and not loaded the roles yet. */
  | { kind: 'forbidden' }
  /** Trying again would not help: a policy, credentials that cannot be read, a certificate. */
  | { kind: 'refused' };

/** Tells what to do about a failed patch. */
export function judgeFailure(error: unknown, target: Target): Failure {
  if (isMissing(error, target)) return { kind: 'missing' };
  if (causesOf(error).some((cause) => cause.includes('other repository: sync.io/'))) return { kind: 'foreign' };
  const part = supersededPart(error);
  if (part) return { kind: 'superseded', part };
  if (!(error instanceof ApiError))
    return isConnectionError(error) ? { kind: 'retry', afterMs: 0 } : { kind: 'refused' };
  if (error.status === 403 && error.message.includes('cannot patch resource')) return { kind: 'forbidden' };
  return isRetryable(error) || isUnknownPath(error)
    ? { kind: 'retry', afterMs: error.retryAfterMs ?? 0 }
    : { kind: 'refused' };
}

/** Without the CRD the API server doesn't know the path, and it may come back. */
const isUnknownPath = ({ status, reason }: ApiError): boolean => status === 404 && reason === '';

/** A 404 counts only as the API server's own word on that very object: without the CRD the path itself is unknown. */
function isMissing(error: unknown, { name }: Target): boolean {
  return isApiError(error, 404) && error.reason === 'NotFound' && error.objectName === name;
}

/** The admission policy of the receiver says which part is older than what is stored. */
function supersededPart(error: unknown): Part | undefined {
  const parts: Part[] = ['request', 'push'];
  return parts.find((part) =>
    causesOf(error).some((cause) => cause.includes(`superseded: ${TIME_ANNOTATIONS[part]} `)),
  );
}

/** What the admission policy of the receiver says. */
const causesOf = (error: unknown): readonly string[] => (isApiError(error, 422) ? error.causes : []);

/** Codes of errors on the way to the API server, which go away by themselves; all others are a person's to fix. */
const connectionCodes = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'ENETDOWN'],
  ...['EAI_AGAIN', 'ENOTFOUND', 'EADDRNOTAVAIL', 'EMFILE', 'ENFILE', 'EPROTO'],
]);

function isConnectionError(error: unknown): boolean {
  const code = codeOf(error);
  // What the parser of Node refuses is no HTTP: something else answers for a moment.
  return connectionCodes.has(code) || code.startsWith('HPE_');
}
