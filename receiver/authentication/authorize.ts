import { randomBytes } from 'node:crypto';
import { replayKeyOf } from './replays.ts';
import { verifySignature } from './verify-signature.ts';
import { type Signed, verifyStandardWebhook } from './verify-standard-webhook.ts';
import { verifyToken } from './verify-token.ts';

/** Secrets that are accepted, by method. Undefined: the method is not configured. Empty: it accepts nothing. */
export interface Secrets {
  hmac: readonly string[] | undefined;
  bearer: readonly string[] | undefined;
  /** Maximum number of secrets of any resource: each check tries as many, so that its time reveals nothing. */
  mostSecrets?: number;
}

/** A delivery may ask for something. `replayKey` names it where its signature holds for a while only. */
export interface Authorization {
  replayKey: string | undefined;
}

const AUTHORIZED: Authorization = { replayKey: undefined };

/** Either method authorizes a delivery, and everybody may ask where none is configured; undefined: it may not. */
export function authorize(delivery: Signed, { hmac, bearer, mostSecrets = 1 }: Secrets): Authorization | undefined {
  if (hmac === undefined && bearer === undefined) return AUTHORIZED;
  if (verifyToken(delivery.headers, bearer ?? [])) return AUTHORIZED;
  const secrets = padded(hmac ?? [], mostSecrets);
  if (verifySignature(delivery.headers, delivery.body, secrets)) return AUTHORIZED;
  return verifyStandardWebhook(delivery, secrets) ? { replayKey: replayKeyOf(delivery) } : undefined;
}

/** Used where there is no secret; nobody knows it. */
const NOBODYS_SECRET = randomBytes(32).toString('hex');

function padded(secrets: readonly string[], count: number): readonly string[] {
  if (secrets.length >= count) return secrets;
  return [...secrets, ...Array<string>(count - secrets.length).fill(NOBODYS_SECRET)];
}
