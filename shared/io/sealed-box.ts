import { base64url, CompactEncrypt, type CryptoKey, compactDecrypt, exportJWK, generateKeyPair } from 'jose';

/** Keys of one question: the private one stays with the client that asks. */
export interface QuestionKeys {
  /** Raw X25519 (RFC 8037), in base64url. */
  publicKey: string;
  privateKey: CryptoKey;
}

const ALGORITHM = 'ECDH-ES';
const CIPHER = 'A256GCM';

/** Draws the keys for one question. */
export async function drawKeys(): Promise<QuestionKeys> {
  const { publicKey, privateKey } = await generateKeyPair(ALGORITHM, { crv: 'X25519' });
  const { x = '' } = await exportJWK(publicKey);
  return { publicKey: x, privateKey };
}

/** What a box is for, and what it is about: what was sealed about one thing can't be shown as about another. */
interface Address {
  to: string;
  about: string;
}

/**
 * Compresses bytes and seals them as a JWE (RFC 7516) that only the owner of a public key opens. It doesn't show who
 * sealed it. Throws for what isn't a public key.
 */
export async function seal(plain: Uint8Array, { to, about }: Address): Promise<string> {
  return await new CompactEncrypt(plain)
    .setProtectedHeader({ alg: ALGORITHM, enc: CIPHER, zip: 'DEF' })
    .setKeyManagementParameters({ apv: Buffer.from(about) })
    .encrypt({ kty: 'OKP', crv: 'X25519', x: to });
}

/** Opens a box that was sealed for these keys and about this; undefined for anything else, and above a size in bytes. */
export async function open(
  sealed: string,
  { keys, about, maxBytes }: { keys: QuestionKeys; about: string; maxBytes: number },
): Promise<Uint8Array | undefined> {
  const options = {
    keyManagementAlgorithms: [ALGORITHM],
    contentEncryptionAlgorithms: [CIPHER],
    maxDecompressedLength: maxBytes,
  };
  try {
    const { plaintext, protectedHeader } = await compactDecrypt(sealed, keys.privateKey, options);
    const isSmall = plaintext.length <= maxBytes; // without `zip`, jose checks no length
    return isSmall && protectedHeader.apv === base64url.encode(about) ? plaintext : undefined;
  } catch {
    return undefined;
  }
}
