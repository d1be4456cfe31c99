import { createPrivateKey, type KeyObject } from 'node:crypto';
import { unpasted } from '../../shared/domain/text/pasted-text.ts';

/** The private key of an App, or what is wrong with the text. */
export type AppKey = { kind: 'key'; key: KeyObject } | { kind: 'problem'; problem: string };

/** GitHub makes keys of 2,048 bits, with 1,700 characters. */
const MAX_KEY = { bits: 8_192, characters: 16 * 1024 };

const DAMAGED = 'is damaged or truncated; copy the whole file that GitHub generated';
const PASSPHRASE = "has a passphrase, and keys from GitHub don't; store the file that GitHub generated";

/** Text that is often mistaken for the private key of an App. */
const misfits: { pattern: RegExp; problem: string }[] = [
  { pattern: /^$/, problem: 'is empty' },
  { pattern: /-----BEGIN ENCRYPTED |Proc-Type: *4, *ENCRYPTED/, problem: PASSPHRASE },
  {
    pattern: /-----BEGIN OPENSSH PRIVATE KEY|^PuTTY-User-Key-File/,
    problem: 'is an SSH key; use the private key that GitHub generated for the App',
  },
  { pattern: /-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY/, problem: DAMAGED },
  {
    pattern: /-----BEGIN (?:[A-Z0-9]+ )*PUBLIC KEY|^(?:ssh-|ecdsa-)\S+ +AAAA/,
    problem: 'is a public key; use the private key',
  },
  { pattern: /-----BEGIN (?:[A-Z0-9]+ )*CERTIFICATE/, problem: 'is a certificate; use the private key' },
  {
    pattern: /^SHA256:/,
    problem: 'is the fingerprint of a key; use the private key, which GitHub shows only when it generates it',
  },
];
const NO_KEY = "isn't a private key in PEM format; store the file that GitHub generated for the App";

const PRIVATE_KEY = /-----BEGIN ((?:RSA |EC |DSA )?PRIVATE KEY)-----([A-Za-z0-9+/=\s]*)-----END \1-----/;
const BASE64 = /^[A-Za-z0-9+/\s]+=*\s*$/;

/**
 * Reads a private key, PKCS #1 or PKCS #8. Accepts PEM in one line, indented, escaped, quoted, in base64, or without its
 * first and last line. Refuses a key that is too large, because signing blocks threads that the whole program shares.
 */
export function readAppKey(given: string): AppKey {
  if (given.length > MAX_KEY.characters) return problem(`has more than ${MAX_KEY.characters} characters`);
  const text = decoded(unpasted(given));
  const key = typeof text === 'string' ? readPem(text) : readDer(text);
  if (!key) return problem(problemOf(text));
  if (key.asymmetricKeyType !== 'rsa') return problem("isn't an RSA key");
  const bits = key.asymmetricKeyDetails?.modulusLength ?? Number.POSITIVE_INFINITY;
  if (bits > MAX_KEY.bits) return problem(`has ${bits} bits, at most ${MAX_KEY.bits} are allowed`);
  return { kind: 'key', key };
}

/** Decodes base64, whose content is PEM or DER. */
function decoded(text: string): string | Buffer {
  if (!BASE64.test(text)) return text;
  const bytes = Buffer.from(text, 'base64');
  const inner = bytes.toString('latin1');
  if (inner.includes('-----BEGIN ')) return unpasted(inner);
  // A sequence of more than 127 bytes, as each key is.
  return bytes[0] === 0x30 && (bytes[1] ?? 0) > 0x80 ? bytes : text;
}

function readPem(text: string): KeyObject | undefined {
  const [, label, body = ''] = PRIVATE_KEY.exec(text) ?? [];
  if (label === undefined) return undefined;
  const lines = body.replace(/\s+/g, '').match(/.{1,64}/g) ?? [];
  return parse(() => createPrivateKey(`-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`));
}

const readDer = (key: Buffer): KeyObject | undefined =>
  parse(() => createPrivateKey({ key, format: 'der', type: 'pkcs1' })) ??
  parse(() => createPrivateKey({ key, format: 'der', type: 'pkcs8' }));

/** OpenSSL's errors contain no cause that a user would understand. */
function parse(read: () => KeyObject): KeyObject | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

function problemOf(text: string | Buffer): string {
  if (typeof text !== 'string') return DAMAGED;
  return misfits.find(({ pattern }) => pattern.test(text))?.problem ?? NO_KEY;
}

const problem = (what: string): AppKey => ({ kind: 'problem', problem: what });
