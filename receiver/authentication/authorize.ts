import { randomBytes } from 'node:crypto';
import { replayKeyOf } from './replays.ts';
import { verifySignature } from './verify-signature.ts';
import { type Signed, verifyStandardWebhook } from './verify-standard-webhook.ts';
import { verifyToken } from './verify-token.ts';

/** Accepted secrets per method. Undefined if the method isn't configured; an empty list accepts nothing. */
export interface Secrets {
  hmac: readonly string[] | undefined;
  bearer: readonly string[] | undefined;
  /** Maximum number of secrets of any resource. Each check tries this many, so that its duration reveals nothing. */
  maxSecrets?: number;
}

/** An authorized delivery. `replayKey` identifies it if its signature expires. */
export interface Authorization {
  replayKey: string | undefined;
}

const AUTHORIZED: Authorization = { replayKey: undefined };

/** Authorizes a delivery with either method, or any delivery if none is configured. Undefined if it isn't authorized. */
export function authorize(delivery: Signed, { hmac, bearer, maxSecrets = 1 }: Secrets): Authorization | undefined {
  if (hmac === undefined && bearer === undefined) return AUTHORIZED;
  if (verifyToken(delivery.headers, bearer ?? [])) return AUTHORIZED;
  const secrets = padded(hmac ?? [], maxSecrets);
  if (verifySignature(delivery.headers, delivery.body, secrets)) return AUTHORIZED;
  return verifyStandardWebhook(delivery, secrets) ? { replayKey: replayKeyOf(delivery) } : undefined;
}

/** Random secret for padding, which never leaves the process. */
const PADDING_SECRET = randomBytes(32).toString('hex');

function padded(secrets: readonly string[], count: number): readonly string[] {
  if (secrets.length >= count) return secrets;
  return [...secrets, ...Array<string>(count - secrets.length).fill(PADDING_SECRET)];
}
