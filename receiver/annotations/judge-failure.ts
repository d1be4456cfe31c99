import type { ResourceName } from '../../shared/domain/kubernetes/object-name.ts';
import { codeOf } from '../../shared/errors.ts';
import { ApiError, isApiError, isRetryable } from '../../shared/io/kubernetes/api-error.ts';
import { type Part, TIME_ANNOTATIONS } from './annotations-of.ts';

/** Meaning of a failed patch. */
export type Failure =
  /** A newer version of this part is stored. */
  | { kind: 'superseded'; part: Part }
  /** The delivery belongs to a repository other than the resource's. */
  | { kind: 'foreign' }
  | { kind: 'retry'; afterMs: number }
  /** A missing resource, or another permanent failure, such as unreadable credentials or an invalid certificate. */
  | { kind: 'refused'; reason: 'NotFound' | 'ApiServerRefused' };

/**
 * Beginnings of the messages of the receiver's admission policy (`chart/templates/receiver/policy.yaml`). Nothing else in
 * a response names the rule that denied a patch. A test compares them with the chart.
 */
const OTHER_REPOSITORY = 'other repository: sync.io/';
const superseded = (part: Part): string => `superseded: ${TIME_ANNOTATIONS[part]} `;

/** Classifies a failed patch. */
export function judgeFailure(error: unknown, resource: ResourceName): Failure {
  if (isMissing(error, resource)) return { kind: 'refused', reason: 'NotFound' };
  const denials = denialsIn(error);
  if (denials.some((denial) => denial.includes(OTHER_REPOSITORY))) return { kind: 'foreign' };
  const part = PARTS.find((each) => denials.some((denial) => denial.includes(superseded(each))));
  if (part) return { kind: 'superseded', part };
  if (!isTransient(error)) return { kind: 'refused', reason: 'ApiServerRefused' };
  return { kind: 'retry', afterMs: isApiError(error) ? (error.retryAfterMs ?? 0) : 0 };
}

const PARTS: readonly Part[] = ['request', 'push'];

function isTransient(error: unknown): boolean {
  if (!(error instanceof ApiError)) return isConnectionError(error);
  return isRetryable(error) || isUnknownPath(error) || isDenied(error);
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
function isMissing(error: unknown, { name }: ResourceName): boolean {
  return isApiError(error, 404) && error.reason === 'NotFound' && error.objectName === name;
}

/** Messages of the receiver's admission policy. */
const denialsIn = (error: unknown): readonly string[] => (isApiError(error, 422) ? error.causes : []);

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
