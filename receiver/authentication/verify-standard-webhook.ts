import { createHmac, timingSafeEqual } from 'node:crypto';
import type { DeliveryHeaders } from '../sources/delivery.ts';
import type { HmacKey } from './hmac-key.ts';

/** Maximum difference to the sender's time (s), because an older delivery may be a replay. */
const TOLERANCE_SECONDS = 300;
const MAX_SIGNATURES = 10;

/** A signed delivery, and the time of the check by the API server's clock. */
export interface Signed {
  headers: DeliveryHeaders;
  body: Buffer;
  at: Date;
}

/** Result of a check. `expired`: the signature is right, but was made at another time. */
export type StandardWebhook = { kind: 'valid' | 'invalid' } | { kind: 'expired'; signedAt: Date };

/**
 * Checks a signature of the Standard Webhooks specification, which GitLab uses: an HMAC-SHA256 over ID, time, and body, in
 * base64.
 * https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
export function verifyStandardWebhook({ headers, body, at }: Signed, keys: readonly HmacKey[]): StandardWebhook {
  const id = headers['webhook-id'];
  const time = headers['webhook-timestamp'];
  const given = id && time ? signaturesIn(headers['webhook-signature']) : [];
  if (!id || !time || !/^\d{1,12}$/.test(time) || given.length === 0) return { kind: 'invalid' };
  const isRight = ({ standard }: HmacKey) => {
    const expected = createHmac('sha256', standard).update(`${id}.${time}.`, 'latin1').update(body).digest();
    return given.some((signature) => timingSafeEqual(signature, expected));
  };
  if (keys.filter(isRight).length === 0) return { kind: 'invalid' };
  const signedAt = new Date(Number(time) * 1000);
  const isRecent = Math.abs(at.getTime() - signedAt.getTime()) <= TOLERANCE_SECONDS * 1000;
  return isRecent ? { kind: 'valid' } : { kind: 'expired', signedAt };
}

/** Reads the header, which can contain several signatures during a key rotation. Ignores versions other than `v1`. */
function signaturesIn(header: string | undefined): Buffer[] {
  const parts = (header ?? '').split(' ').slice(0, MAX_SIGNATURES);
  return parts.flatMap((part) => {
    const base64 = /^v1,([A-Za-z0-9+/]{43}=)$/.exec(part)?.[1];
    return base64 === undefined ? [] : [Buffer.from(base64, 'base64')];
  });
}
