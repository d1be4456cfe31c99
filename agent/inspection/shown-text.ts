import { isUtf8 } from 'node:buffer';
import type { LeftOut } from '../../shared/api/inspection.ts';

/** Names of files that usually contain secrets. */
const SECRET_NAMES = [
  /secret|passw|credential/i,
  /\.(pem|key|p12|pfx|jks|jceks|keystore|kdbx|ppk|gpg|asc)$/i,
  /(^|\/)(\.env(\.[^/]*)?|[^/]*\.env|\.netrc|\.npmrc|\.pgpass|\.htpasswd|\.git-credentials|id_(rsa|dsa|ecdsa|ed25519))$/i,
];

const PRIVATE_KEY = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY/;

/** Checks whether a path looks like a secret's. */
export const looksSecret = (path: string): boolean => SECRET_NAMES.some((pattern) => pattern.test(path));

/** Maximum length of the start of a private key that identifies it. */
export const KEY_MARK_BYTES = 160;

/** Checks whether bytes contain the start of a private key, in UTF-8 or UTF-16. */
export const hasPrivateKey = (content: Buffer): boolean =>
  PRIVATE_KEY.test(content.toString('latin1').replaceAll('\0', ''));

/** Content that users can see, or the reason why it is omitted. */
export type Shown = { kind: 'text'; text: string } | { kind: 'leftOut'; why: LeftOut };

/** Returns the text of a file whose name doesn't indicate a secret. */
export function shownText(content: Buffer): Shown {
  if (content.includes(0) || !isUtf8(content)) return { kind: 'leftOut', why: 'binary' };
  const text = content.toString('utf8');
  return PRIVATE_KEY.test(text) ? { kind: 'leftOut', why: 'secret' } : { kind: 'text', text };
}
