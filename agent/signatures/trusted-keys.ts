/** Public keys in the forms that the tools want. */
export interface TrustedKeys {
  /** Lines of an allowed signers file (ssh-keygen(1)). */
  allowedSigners: string[];
  /** Armored OpenPGP keys (RFC 9580). */
  openPgp: string[];
}

export type TrustedKeysResult = { kind: 'keys'; keys: TrustedKeys } | { kind: 'problem'; message: string };

const ARMOR = '-----BEGIN PGP PUBLIC KEY BLOCK-----';
const SSH_KEY = /(?:^|\s)(?:sk-)?(?:ssh-(?:ed25519|rsa)|ecdsa-sha2-[a-z0-9-]+)(?:@openssh\.com)? [A-Za-z0-9+/=]+/;

/**
 * Reads keys from the values of a Secret, by the Secret's keys: armored OpenPGP, or SSH keys one a line, each as in a
 * `.pub` file (good for everybody) or as in an allowed signers file (with the principals and options that it says).
 */
export function trustedKeys(values: ReadonlyMap<string, string>): TrustedKeysResult {
  const keys: TrustedKeys = { allowedSigners: [], openPgp: [] };
  for (const [name, text] of values) {
    if (text.includes(ARMOR)) {
      keys.openPgp.push(text);
      continue;
    }
    for (const line of linesOf(text)) {
      const match = SSH_KEY.exec(line);
      if (!match) return problem(`${name} in the Secret of spec.git.verify holds a line that is no public key`);
      keys.allowedSigners.push(match.index === 0 ? `* namespaces="git" ${line}` : line);
    }
  }
  if (keys.allowedSigners.length + keys.openPgp.length > 0) return { kind: 'keys', keys };
  return problem('the Secret of spec.git.verify holds no key');
}

function linesOf(text: string): string[] {
  return text.split(/\r?\n/).flatMap((line) => (line.trim() === '' || line.startsWith('#') ? [] : [line.trim()]));
}

const problem = (message: string): TrustedKeysResult => ({ kind: 'problem', message });
