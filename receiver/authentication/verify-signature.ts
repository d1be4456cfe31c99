import { createHmac, type Hmac, timingSafeEqual } from 'node:crypto';
import type { DeliveryHeaders } from '../sources/delivery.ts';
import { decodePayload, isForm } from '../sources/form-payload.ts';
import type { HmacKey } from './hmac-key.ts';

interface SignatureHeader {
  name: string;
  form: RegExp;
}

const withPrefix = /^sha256=([0-9a-f]{64})$/i;
const bare = /^([0-9a-f]{64})$/i;

/**
 * Headers that carry the HMAC-SHA256 of the body in hexadecimal digits.
 * https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries,
 * https://support.atlassian.com/bitbucket-cloud/docs/manage-webhooks/#Secure-webhooks
 */
const ofBody: readonly SignatureHeader[] = [
  { name: 'x-hub-signature-256', form: withPrefix },
  { name: 'x-hub-signature', form: withPrefix },
];

/**
 * Headers that carry the HMAC-SHA256 of the JSON, which is the field `payload` of a form, and otherwise the body.
 * https://docs.gitea.com/usage/repository/webhooks, https://forgejo.org/docs/latest/user/webhooks/,
 * https://github.com/gogs/gogs/blob/main/internal/database/webhook.go
 */
const ofJson: readonly SignatureHeader[] = [
  { name: 'x-forgejo-signature', form: bare },
  { name: 'x-gitea-signature', form: bare },
  { name: 'x-gogs-signature', form: bare },
];

/** Passes the signed bytes on in chunks. Returns false if they are invalid. */
type Feed = (use: (chunk: Buffer) => void) => boolean;

/** Checks whether a header contains a signature by one of the keys. Ignores headers of other forms. */
export function verifySignature(headers: DeliveryHeaders, body: Buffer, keys: readonly HmacKey[]): boolean {
  const feedBody: Feed = (use) => {
    use(body);
    return true;
  };
  const feedJson: Feed = isForm(headers) ? (use) => decodePayload(body, use) : feedBody;
  const isBodySigned = isSigned(feedBody, signaturesIn(headers, ofBody), keys);
  return isSigned(feedJson, signaturesIn(headers, ofJson), keys) || isBodySigned;
}

function isSigned(feed: Feed, signatures: readonly Buffer[], keys: readonly HmacKey[]): boolean {
  if (signatures.length === 0) return false;
  const macs = keys.map(({ text }) => createHmac('sha256', text));
  const isValid = feed((chunk) => {
    for (const mac of macs) mac.update(chunk);
  });
  const isRight = (mac: Hmac) => {
    const expected = mac.digest();
    return signatures.some((signature) => timingSafeEqual(signature, expected));
  };
  // All keys are tried, so that the duration doesn't reveal which one matches.
  return macs.filter(isRight).length > 0 && isValid;
}

function signaturesIn(headers: DeliveryHeaders, expected: readonly SignatureHeader[]): Buffer[] {
  const found: Buffer[] = [];
  for (const { name, form } of expected) {
    const value = headers[name];
    const hex = value === undefined ? undefined : form.exec(value)?.[1];
    if (hex !== undefined) found.push(Buffer.from(hex, 'hex'));
  }
  return found;
}
