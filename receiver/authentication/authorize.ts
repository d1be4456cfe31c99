import { verifySignature } from './verify-signature.ts';
import { type Signed, verifyStandardWebhook } from './verify-standard-webhook.ts';
import { verifyToken } from './verify-token.ts';

/** Secrets that are accepted, by method. Undefined: the method is not configured. Empty: it accepts nothing. */
export interface Secrets {
  hmac: readonly string[] | undefined;
  bearer: readonly string[] | undefined;
}

/** Whether the delivery may ask for something: either method authorizes it, and everybody may where none is configured. */
export function authorize(delivery: Signed, { hmac, bearer }: Secrets): boolean {
  if (hmac === undefined && bearer === undefined) return true;
  return (
    verifyToken(delivery.headers, bearer ?? []) ||
    verifySignature(delivery.headers, delivery.body, hmac ?? []) ||
    verifyStandardWebhook(delivery, hmac ?? [])
  );
}
