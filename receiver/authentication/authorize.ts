import type { HmacKey } from './hmac-key.ts';
import { replayKeyOf } from './replays.ts';
import { verifySignature } from './verify-signature.ts';
import { type Signed, verifyStandardWebhook } from './verify-standard-webhook.ts';
import { verifyToken } from './verify-token.ts';

/** Accepted secrets per method; undefined if the method isn't configured. Each resource has the same number of them. */
export interface Secrets {
  hmac: readonly HmacKey[] | undefined;
  /** Digests of tokens. */
  bearer: readonly Buffer[] | undefined;
}

/** Whether a delivery is authentic. `replayKey` identifies it if its signature expires. */
export type Authorization =
  | { kind: 'authorized'; replayKey?: string }
  | { kind: 'expired'; signedAt: Date }
  | { kind: 'unauthorized' };

/** Authorizes a delivery with either method, or any delivery if none is configured. */
export function authorize(delivery: Signed, { hmac, bearer }: Secrets): Authorization {
  if (hmac === undefined && bearer === undefined) return { kind: 'authorized' };
  if (verifyToken(delivery.headers, bearer ?? [])) return { kind: 'authorized' };
  if (verifySignature(delivery.headers, delivery.body, hmac ?? [])) return { kind: 'authorized' };
  const checked = verifyStandardWebhook(delivery, hmac ?? []);
  if (checked.kind === 'expired') return checked;
  return checked.kind === 'valid' ? { kind: 'authorized', replayKey: replayKeyOf(delivery) } : { kind: 'unauthorized' };
}
