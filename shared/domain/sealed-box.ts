import {
  createCipheriv,
  createDecipheriv,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';

/** Keys of one question: the private one stays with whoever asks. */
export interface QuestionKeys {
  /** Raw X25519 (RFC 7748), in base64. */
  publicKey: string;
  privateKey: KeyObject;
}

/** A box with its nonce and tag begins with the public key of whoever sealed it. */
const SIZES = { key: 32, nonce: 12, tag: 16 };
const CIPHER = 'aes-256-gcm';
const INFO = 'sync.io/inspect/v1';

/** Draws the keys for one question. */
export function drawKeys(): QuestionKeys {
  const { publicKey, privateKey } = generateKeyPairSync('x25519');
  return { publicKey: rawOf(publicKey).toString('base64'), privateKey };
}

/**
 * Seals bytes so that only the owner of a public key opens them: X25519 with a key of one use, HKDF (RFC 5869) and
 * AES-256-GCM. `about` is bound to it: what was sealed about one thing cannot be shown as about another. It says
 * nothing of who sealed it. Gives base64; throws for what is no public key.
 */
export function seal(plain: Uint8Array, { to, about }: { to: string; about: string }): string {
  const recipient = Buffer.from(to, 'base64');
  const own = generateKeyPairSync('x25519');
  const sender = rawOf(own.publicKey);
  const shared = diffieHellman({ privateKey: own.privateKey, publicKey: publicKeyOf(recipient) });
  const nonce = randomBytes(SIZES.nonce);
  const cipher = createCipheriv(CIPHER, keyFrom(shared, sender, recipient), nonce).setAAD(Buffer.from(about));
  const text = Buffer.concat([cipher.update(plain), cipher.final()]);
  return Buffer.concat([sender, nonce, text, cipher.getAuthTag()]).toString('base64');
}

/** Opens what was sealed for these keys and about this; undefined for anything else. */
export function open(
  sealed: string,
  { keys, about }: { keys: QuestionKeys; about: string },
): Buffer<ArrayBuffer> | undefined {
  const box = Buffer.from(sealed, 'base64');
  if (box.length < SIZES.key + SIZES.nonce + SIZES.tag) return undefined;
  const sender = box.subarray(0, SIZES.key);
  const nonce = box.subarray(SIZES.key, SIZES.key + SIZES.nonce);
  const text = box.subarray(SIZES.key + SIZES.nonce, -SIZES.tag);
  try {
    const shared = diffieHellman({ privateKey: keys.privateKey, publicKey: publicKeyOf(sender) });
    const key = keyFrom(shared, sender, Buffer.from(keys.publicKey, 'base64'));
    const decipher = createDecipheriv(CIPHER, key, nonce).setAAD(Buffer.from(about));
    decipher.setAuthTag(box.subarray(-SIZES.tag));
    return Buffer.concat([decipher.update(text), decipher.final()]);
  } catch {
    return undefined; // it was changed, or is for somebody else, or about something else
  }
}

/** Both public keys are a part of it, as RFC 7748 (6.1) asks for. */
const keyFrom = (shared: Buffer, sender: Buffer, recipient: Buffer): Buffer =>
  Buffer.from(hkdfSync('sha256', shared, Buffer.concat([sender, recipient]), INFO, 32));

const rawOf = (key: KeyObject): Buffer => Buffer.from(key.export({ format: 'jwk' }).x ?? '', 'base64url');

const publicKeyOf = (raw: Buffer): KeyObject =>
  createPublicKey({ format: 'jwk', key: { kty: 'OKP', crv: 'X25519', x: raw.toString('base64url') } });
