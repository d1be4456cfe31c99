import { createHash, timingSafeEqual } from 'node:crypto';
import type { DeliveryHeaders } from '../sources/delivery.ts';

/** Checks whether `Authorization: Bearer <token>` (RFC 6750) or GitLab's `X-Gitlab-Token` contains one of the tokens. */
export function verifyToken(headers: DeliveryHeaders, tokens: readonly string[]): boolean {
  return isOneOf(bearerIn(headers.authorization), tokens) || isOneOf(headers['x-gitlab-token'], tokens);
}

function bearerIn(header: string | undefined): string | undefined {
  return header === undefined ? undefined : /^Bearer +(\S.*)$/i.exec(header)?.[1];
}

function isOneOf(token: string | undefined, tokens: readonly string[]): boolean {
  if (!token) return false;
  // Digests have the same length, so the comparison doesn't reveal the length of the token.
  // Node decodes headers as Latin-1.
  const given = digestOf(Buffer.from(token, 'latin1'));
  return tokens.some((expected) => timingSafeEqual(digestOf(expected), given));
}

function digestOf(text: string | Buffer): Buffer {
  return createHash('sha256').update(text).digest();
}
