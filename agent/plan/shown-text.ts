import { isUtf8 } from 'node:buffer';
import type { LeftOut } from '../../shared/api/inspection.ts';

/** Names of files that hold secrets as a rule, or may. */
const SECRET_NAMES = [
  /secret|passw|credential/i,
  /\.(pem|key|p12|pfx|jks|jceks|keystore|kdbx|ppk|gpg|asc)$/i,
  /(^|\/)(\.env(\.[^/]*)?|[^/]*\.env|\.netrc|\.npmrc|\.pgpass|\.htpasswd|\.git-credentials|id_(rsa|dsa|ecdsa|ed25519))$/i,
];

const PRIVATE_KEY = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY/;

/** Whether a path looks like that of a secret. */
export const looksSecret = (path: string): boolean => SECRET_NAMES.some((pattern) => pattern.test(path));

/** Content that may be shown to people who ask, or why it is not. */
export type Shown = { kind: 'text'; text: string } | { kind: 'leftOut'; why: LeftOut };

/** The text of a file that does not look like a secret by its name. */
export function shownText(content: Buffer): Shown {
  if (content.includes(0) || !isUtf8(content)) return { kind: 'leftOut', why: 'binary' };
  const text = content.toString('utf8');
  return PRIVATE_KEY.test(text) ? { kind: 'leftOut', why: 'secret' } : { kind: 'text', text };
}
