import { replayKeyOf } from './replays.ts';
import { verifySignature } from './verify-signature.ts';
import { type Signed, verifyStandardWebhook } from './verify-standard-webhook.ts';
import { verifyToken } from './verify-token.ts';

/** Secrets that are accepted, by method. Undefined: the method is not configured. Empty: it accepts nothing. */
export interface Secrets {
  hmac: readonly string[] | undefined;
  bearer: readonly string[] | undefined;
}

/** A delivery may ask for something. `replayKey` names it where its signature holds for a while only. */
export interface Authorization {
  replayKey: string | undefined;
}

const AUTHORIZED: Authorization = { replayKey: undefined };

/** Either method authorizes a delivery, and everybody may ask where none is configured; undefined: it may not. */
export function authorize(delivery: Signed, { hmac, bearer }: Secrets): Authorization | undefined {
  if (hmac === undefined && bearer === undefined) return AUTHORIZED;
  if (verifyToken(delivery.headers, bearer ?? [])) return AUTHORIZED;
  if (verifySignature(delivery.headers, delivery.body, hmac ?? [])) return AUTHORIZED;
  return verifyStandardWebhook(delivery, hmac ?? []) ? { replayKey: replayKeyOf(delivery.headers) } : undefined;
}
