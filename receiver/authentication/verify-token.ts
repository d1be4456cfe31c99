import { createHash, timingSafeEqual } from 'node:crypto';
import type { DeliveryHeaders } from '../sources/delivery.ts';

/**
 * Checks whether a header contains one of the tokens: `Authorization: Bearer TOKEN` (RFC 6750), `Authorization: Basic …` with
 * the token as the password of any user (RFC 7617), or GitLab's `X-Gitlab-Token`.
 */
export function verifyToken(headers: DeliveryHeaders, tokens: readonly string[]): boolean {
  const { authorization = '', 'x-gitlab-token': gitlab = '' } = headers;
  return [bearerIn(authorization), passwordIn(authorization), bytesOf(gitlab)].some((token) => isOneOf(token, tokens));
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

function isOneOf(token: Buffer, tokens: readonly string[]): boolean {
  if (token.length === 0) return false;
  // Digests have the same length, so the comparison doesn't reveal the length of the token.
  const given = digestOf(token);
  return tokens.some((expected) => timingSafeEqual(digestOf(expected), given));
}

function digestOf(text: string | Buffer): Buffer {
  return createHash('sha256').update(text).digest();
}
