import { createHmac, timingSafeEqual } from 'node:crypto';
import type { DeliveryHeaders } from '../sources/delivery.ts';

/** Maximum difference to the sender's time (s), because an older delivery may be a replay. */
const TOLERANCE_SECONDS = 300;
const KEY_PREFIX = 'whsec_';
const MAX_SIGNATURES = 10;

/** A signed delivery, and the time of the check. */
export interface Signed {
  headers: DeliveryHeaders;
  body: Uint8Array;
  at: Date;
}

/**
 * Checks a signature of the Standard Webhooks specification, which GitLab uses: an HMAC-SHA256 over ID, time, and body, in
 * base64. A secret that starts with `whsec_` is a key in base64.
 * https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
export function verifyStandardWebhook({ headers, body, at }: Signed, secrets: readonly string[]): boolean {
  const id = headers['webhook-id'];
  const time = headers['webhook-timestamp'];
  const given = id && time ? signaturesIn(headers['webhook-signature']) : [];
  if (!id || !time || given.length === 0 || !isRecent(time, at)) return false;
  return secrets.some((secret) => {
    const expected = createHmac('sha256', keyOf(secret)).update(`${id}.${time}.`, 'latin1').update(body).digest();
    return given.some((signature) => timingSafeEqual(signature, expected));
  });
}

function isRecent(time: string, at: Date): boolean {
  return /^\d{1,12}$/.test(time) && Math.abs(at.getTime() / 1000 - Number(time)) <= TOLERANCE_SECONDS;
}

/** Reads the header, which can contain several signatures during a key rotation. Ignores versions other than `v1`. */
function signaturesIn(header: string | undefined): Buffer[] {
  const parts = (header ?? '').split(' ').slice(0, MAX_SIGNATURES);
  return parts.flatMap((part) => {
    const base64 = /^v1,([A-Za-z0-9+/]{43}=)$/.exec(part)?.[1];
    return base64 === undefined ? [] : [Buffer.from(base64, 'base64')];
  });
}

function keyOf(secret: string): string | Buffer {
  return secret.startsWith(KEY_PREFIX) ? Buffer.from(secret.slice(KEY_PREFIX.length), 'base64') : secret;
}
