import { createHash, timingSafeEqual } from 'node:crypto';
import type { DeliveryHeaders } from '../sources/delivery.ts';

/** Whether `Authorization: Bearer <token>` (RFC 6750) or GitLab's `X-Gitlab-Token` holds one of the tokens. */
export function verifyToken(headers: DeliveryHeaders, tokens: readonly string[]): boolean {
  return isOneOf(bearerIn(headers.authorization), tokens) || isOneOf(headers['x-gitlab-token'], tokens);
}

function bearerIn(header: string | undefined): string | undefined {
  return header === undefined ? undefined : /^Bearer +(\S.*)$/i.exec(header)?.[1];
}

function isOneOf(token: string | undefined, tokens: readonly string[]): boolean {
  if (!token) return false;
  // Digests are of one length, so that the comparison tells nothing about the length of the token either.
  // Node gives a header's bytes as Latin-1.
  const given = digestOf(Buffer.from(token, 'latin1'));
  return tokens.some((expected) => timingSafeEqual(digestOf(expected), given));
}

function digestOf(text: string | Buffer): Buffer {
  return createHash('sha256').update(text).digest();
}
