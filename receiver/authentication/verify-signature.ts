import { createHmac, timingSafeEqual } from 'node:crypto';
import type { DeliveryHeaders } from '../sources/delivery.ts';

const withPrefix = /^sha256=([0-9a-f]{64})$/i;
const bare = /^([0-9a-f]{64})$/i;

/**
 * Headers that carry the HMAC-SHA256 of the body in hexadecimal digits.
 * https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries,
 * https://support.atlassian.com/bitbucket-cloud/docs/manage-webhooks/#Secure-webhooks,
 * https://docs.gitea.com/usage/repository/webhooks, https://forgejo.org/docs/latest/user/webhooks/
 */
const signatureHeaders = [
  { name: 'x-hub-signature-256', form: withPrefix },
  { name: 'x-hub-signature', form: withPrefix },
  { name: 'x-forgejo-signature', form: bare },
  { name: 'x-gitea-signature', form: bare },
  { name: 'x-gogs-signature', form: bare },
];

/** Checks whether a header contains a signature of these bytes by one of the secrets. Ignores headers of other forms. */
export function verifySignature(headers: DeliveryHeaders, body: Uint8Array, secrets: readonly string[]): boolean {
  const given = signaturesIn(headers);
  if (given.length === 0) return false;
  const isRight = (secret: string) => {
    const expected = createHmac('sha256', secret).update(body).digest();
    return given.some((signature) => timingSafeEqual(signature, expected));
  };
  // All secrets are tried, so that the duration doesn't reveal which one matches.
  return secrets.filter(isRight).length > 0;
}

function signaturesIn(headers: DeliveryHeaders): Buffer[] {
  const found: Buffer[] = [];
  for (const { name, form } of signatureHeaders) {
    const value = headers[name];
    const hex = value === undefined ? undefined : form.exec(value)?.[1];
    if (hex !== undefined) found.push(Buffer.from(hex, 'hex'));
  }
  return found;
}
