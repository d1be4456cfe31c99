import { base64url, CompactEncrypt, type CryptoKey, compactDecrypt, exportJWK, generateKeyPair } from 'jose';

/** Keys for one inspection; the private key remains with the client. */
export interface QuestionKeys {
  /** Raw X25519 (RFC 8037), in base64url. */
  publicKey: string;
  privateKey: CryptoKey;
}

const ALGORITHM = 'ECDH-ES';
const CIPHER = 'A256GCM';

/** Generates keys for one inspection. */
export async function drawKeys(): Promise<QuestionKeys> {
  const { publicKey, privateKey } = await generateKeyPair(ALGORITHM, { crv: 'X25519' });
  const { x = '' } = await exportJWK(publicKey);
  return { publicKey: x, privateKey };
}

/** Recipient and subject of a box, so that a sealed response can't be presented for another subject. */
interface Address {
  to: string;
  about: string;
}

/**
 * Compresses bytes and seals them as a JWE (RFC 7516) that only the owner of a public key can open. It doesn't show the
 * sender. Throws for an invalid public key.
 */
export async function seal(plain: Uint8Array, { to, about }: Address): Promise<string> {
  return await new CompactEncrypt(plain)
    .setProtectedHeader({ alg: ALGORITHM, enc: CIPHER, zip: 'DEF' })
    .setKeyManagementParameters({ apv: Buffer.from(about) })
    .encrypt({ kty: 'OKP', crv: 'X25519', x: to });
}

/** Opens a box for these keys and this subject. Returns undefined for any other, and above a size in bytes. */
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
