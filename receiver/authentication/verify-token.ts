import { createHash, timingSafeEqual } from 'node:crypto';
import type { DeliveryHeaders } from '../sources/delivery.ts';

/**
 * Checks whether a header contains a token with one of these digests: `Authorization: Bearer TOKEN` (RFC 6750),
 * `Authorization: Basic …` with the token as the password of any user (RFC 7617), or GitLab's `X-Gitlab-Token`.
 */
export function verifyToken(headers: DeliveryHeaders, digests: readonly Buffer[]): boolean {
  const { authorization = '', 'x-gitlab-token': gitlab = '' } = headers;
  return [bearerIn(authorization), passwordIn(authorization), bytesOf(gitlab)].some((token) => isOneOf(token, digests));
}

/** Digest of a token. Digests have the same length, so comparing them doesn't reveal the length of a token. */
export function tokenDigest(token: string | Buffer): Buffer {
  return createHash('sha256').update(token).digest();
}

function bearerIn(header: string): Buffer {
  return bytesOf(/^Bearer +(\S.*)$/i.exec(header)?.[1] ?? '');
}

/** Empty if the header is malformed: other characters than those of base64, missing padding, or no colon. */
function passwordIn(header: string): Buffer {
  const [, encoded = ''] = /^Basic +([\w+/]+={0,2})$/i.exec(header) ?? [];
  const credentials = Buffer.from(encoded, 'base64');
  const colon = credentials.indexOf(':');
  const isWhole = credentials.toString('base64') === encoded;
  return isWhole && colon >= 0 ? credentials.subarray(colon + 1) : Buffer.alloc(0);
}

/** Node decodes headers as Latin-1. */
const bytesOf = (value: string): Buffer => Buffer.from(value, 'latin1');

function isOneOf(token: Buffer, digests: readonly Buffer[]): boolean {
  if (token.length === 0) return false;
  const given = tokenDigest(token);
  // All digests are compared, so that the duration doesn't reveal which one matches.
  return digests.filter((digest) => timingSafeEqual(digest, given)).length > 0;
}
