import { codeOf } from '../../shared/errors.ts';
import { ApiError, isApiError, isRetryable } from '../../shared/io/kubernetes/api-error.ts';
import { type Part, TIME_ANNOTATIONS } from './annotations-of.ts';
import type { Target } from './target.ts';

/** Meaning of a failed patch. */
export type Failure =
  | { kind: 'missing' }
  /** A newer version of this part is stored. */
  | { kind: 'superseded'; part: Part }
  /** The delivery belongs to a repository other than the resource's. */
  | { kind: 'foreign' }
  | { kind: 'retry'; afterMs: number }
  /** A permanent failure, for example due to an invalid object, unreadable credentials, or a certificate. */
  | { kind: 'refused' };

/** Classifies a failed patch. */
export function judgeFailure(error: unknown, target: Target): Failure {
  if (isMissing(error, target)) return { kind: 'missing' };
  if (causesOf(error).some((cause) => cause.includes('other repository: sync.io/'))) return { kind: 'foreign' };
  const part = supersededPart(error);
  if (part) return { kind: 'superseded', part };
  if (!(error instanceof ApiError))
    return isConnectionError(error) ? { kind: 'retry', afterMs: 0 } : { kind: 'refused' };
  return isRetryable(error) || isUnknownPath(error) || isDenied(error)
    ? { kind: 'retry', afterMs: error.retryAfterMs ?? 0 }
    : { kind: 'refused' };
}

/**
 * Checks whether the API server denied access. Until it has loaded its service accounts, roles, and policies, an API
 * server that has just started denies everything. A policy that denied the patch is a cause.
 */
export function isDenied(error: unknown): boolean {
  return isApiError(error, 401, 403) && error.causes.length === 0;
}

/** Without the CRD, which may be installed again, the API server doesn't know the path. */
const isUnknownPath = ({ status, reason }: ApiError): boolean => status === 404 && reason === '';

/** Checks whether a 404 is about this object; without the CRD, the path itself is unknown. */
function isMissing(error: unknown, { name }: Target): boolean {
  return isApiError(error, 404) && error.reason === 'NotFound' && error.objectName === name;
}

/** Reads the outdated part from the message of the receiver's admission policy. */
function supersededPart(error: unknown): Part | undefined {
  const parts: Part[] = ['request', 'push'];
  return parts.find((part) =>
    causesOf(error).some((cause) => cause.includes(`superseded: ${TIME_ANNOTATIONS[part]} `)),
  );
}

/** Messages of the receiver's admission policy. */
const causesOf = (error: unknown): readonly string[] => (isApiError(error, 422) ? error.causes : []);

/** Codes of transient connection errors. Errors of the HTTP parser (HPE_*) are transient as well. */
const connectionCodes = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'ENETDOWN'],
  ...['EAI_AGAIN', 'ENOTFOUND', 'EADDRNOTAVAIL', 'EMFILE', 'ENFILE', 'EPROTO'],
]);

function isConnectionError(error: unknown): boolean {
  const code = codeOf(error);
  // A response that Node can't parse as HTTP comes from another program that uses the address temporarily.
  return connectionCodes.has(code) || code.startsWith('HPE_');
}
