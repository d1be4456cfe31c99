import { createHash } from 'node:crypto';

/** The keys of a secret. They fit into a block of the hash, so that the duration of an HMAC is the same for all secrets. */
export interface HmacKey {
  /** The text of the secret. */
  text: Buffer;
  /** For Standard Webhooks: the bytes that are in base64 after `whsec_`, or else the text. */
  standard: Buffer;
}

const KEY_PREFIX = 'whsec_';
/** Block size of SHA-256 (bytes). */
const BLOCK_BYTES = 64;

export function hmacKeyOf(secret: string): HmacKey {
  const text = inOneBlock(Buffer.from(secret));
  if (!secret.startsWith(KEY_PREFIX)) return { text, standard: text };
  return { text, standard: inOneBlock(Buffer.from(secret.slice(KEY_PREFIX.length), 'base64')) };
}

/** Hashes a long key, as an HMAC does it first (RFC 2104). */
function inOneBlock(key: Buffer): Buffer {
  return key.length > BLOCK_BYTES ? createHash('sha256').update(key).digest() : key;
}
