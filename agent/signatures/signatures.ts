import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { TerminalError, TransientError } from '../../shared/errors.ts';
import type { Git } from '../../shared/io/git/git.ts';
import { saidNothing } from '../../shared/io/git/git-process.ts';
import { onVolume, TEMPORARY_VOLUME } from '../disk/volume-error.ts';

export interface SignatureOptions {
  git: Git;
  gitDir: string;
  /** Directory with the trusted keys, one file per key: a mounted Secret. */
  keysDirectory: string | undefined;
}

/** An object of the repository that must be signed, and its name in messages. */
export interface SignedObject {
  kind: 'commit' | 'tag';
  id: string;
  name: string;
}

/**
 * Output of gpg and ssh-keygen for a good signature: git 2.54 and later also accepts one with an expired OpenPGP key.
 * Only after a line feed, because gpg prints the names of keys, in which other characters could also end a line.
 */
const GOOD = /(?:^|\n)(?:\[GNUPG:\] GOODSIG |Good "git" signature for )/;

/** Checks signatures with git-verify-commit(1) and git-verify-tag(1) against the current keys. */
export class Signatures {
  readonly #options: SignatureOptions;
  /** The object last found to be signed, and the keys it was checked with. */
  #verified = '';

  constructor(options: SignatureOptions) {
    this.#options = options;
  }

  /** Returns signatures of another repository, checked against the same keys. */
  in(gitDir: string): Signatures {
    return new Signatures({ ...this.#options, gitDir });
  }

  /** Returns the hash of the current keys. */
  async hashKeys(): Promise<string> {
    return hashOf([...(await readKeys(this.#options.keysDirectory))]);
  }

  /** Returns the hash of the keys. Throws {@link TerminalError} unless one signed the object. Caches a success. */
  async check(object: SignedObject): Promise<string> {
    const values = await readKeys(this.#options.keysDirectory);
    const trusted = trustedKeys(values);
    const keys = hashOf([...values]);
    const key = hashOf([object, keys]);
    if (key === this.#verified) return keys;
    await onVolume(TEMPORARY_VOLUME, async () => {
      const directory = await mkdtemp(join(tmpdir(), 'sync-agent-keys-'));
      try {
        await this.#verify(object, trusted, directory);
      } finally {
        await rm(directory, { recursive: true, force: true });
      }
    });
    this.#verified = key;
    return keys;
  }

  async #verify({ kind, id, name }: SignedObject, keys: TrustedKeys, directory: string): Promise<void> {
    const { git, gitDir } = this.#options;
    const signersFile = join(directory, 'allowed_signers');
    await writeFile(signersFile, `${keys.allowedSigners.join('\n')}\n`);
    if (keys.openPgp.length > 0) await importOpenPgpKeys(keys.openPgp, directory);
    const config = ['-c', `gpg.ssh.allowedSignersFile=${signersFile}`, '-c', 'gpg.minTrustLevel=undefined'];
    const args = [...config, `--git-dir=${gitDir}`, `verify-${kind}`, '--raw', id];
    const messages = await git.runForMessages(args, { environment: { GNUPGHOME: directory } }).catch((cause) => {
      throw explain(`${kind} ${name}`, cause);
    });
    if (!GOOD.test(messages)) throw explain(`${kind} ${name}`, new Error(messages));
  }
}

const hashOf = (parts: unknown[]): string => createHash('sha256').update(JSON.stringify(parts)).digest('hex');

async function readKeys(directory: string | undefined): Promise<Map<string, string>> {
  const hint = 'the keys of spec.git.verify.keysSecretRef are not mounted: recreate the pod after a change of it';
  if (!directory) throw keysError('git.noVerifyKeys', hint);
  // Kubernetes keeps the versions of a mounted Secret in directories whose names start with two dots.
  const names = (await readdir(directory).catch(() => [])).filter((name) => !name.startsWith('..')).sort();
  if (names.length === 0) throw keysError('git.noVerifyKeys', hint);
  return new Map(
    await Promise.all(names.map(async (name) => [name, await readFile(join(directory, name), 'utf8')] as const)),
  );
}

function explain(what: string, cause: unknown): unknown {
  if (saidNothing(cause)) return cause;
  const complaint = String((cause as Error).cause ?? cause);
  if (/cannot run|No user exists|command not found|No such file/i.test(complaint)) {
    const message = `the signature of ${what} cannot be checked: the agent's image lacks ssh-keygen or gpg, or a user name`;
    return new TransientError(message, { code: 'git.signatureTool', reason: 'SignatureInvalid', cause });
  }
  if (/\bEXPKEYSIG\b/.test(complaint)) {
    const message = `${what} is signed with a key that has expired: add the extended key or another one to the Secret of spec.git.verify.keysSecretRef`;
    return new TerminalError(message, { code: 'git.signatureExpired', reason: 'SignatureInvalid', cause });
  }
  return new TerminalError(
    `${what} isn't signed with a key of spec.git.verify.keysSecretRef, so it isn't delivered: sign it, or add the key`,
    {
      code: 'git.signature',
      reason: 'SignatureInvalid',
      cause,
    },
  );
}

const keysError = (code: string, message: string) => new TerminalError(message, { code, reason: 'SignatureInvalid' });

/** Public keys in the formats of the tools. */
export interface TrustedKeys {
  /** Lines of an allowed signers file (ssh-keygen(1)). */
  allowedSigners: string[];
  /** Armored OpenPGP keys (RFC 9580). */
  openPgp: string[];
}

const ARMOR = '-----BEGIN PGP PUBLIC KEY BLOCK-----';
const SSH_KEY = /(?:^|\s)(?:sk-)?(?:ssh-(?:ed25519|rsa)|ecdsa-sha2-[a-z0-9-]+)(?:@openssh\.com)? [A-Za-z0-9+/=]+/;

/**
 * Reads keys from the values of a Secret: armored OpenPGP keys, or SSH keys, one per line, as in a `.pub` file (valid
 * for everyone) or an allowed signers file (with its principals and options). Throws {@link TerminalError} if there are
 * none, or other content.
 */
function trustedKeys(values: ReadonlyMap<string, string>): TrustedKeys {
  const keys: TrustedKeys = { allowedSigners: [], openPgp: [] };
  for (const [name, text] of values) {
    if (text.includes(ARMOR)) {
      keys.openPgp.push(text);
      continue;
    }
    for (const line of linesOf(text)) {
      const match = SSH_KEY.exec(line);
      if (!match)
        throw keysError(
          'git.verifyKeyInvalid',
          `${name} in the Secret of spec.git.verify contains a line that isn't a public key`,
        );
      keys.allowedSigners.push(match.index === 0 ? `* namespaces="git" ${line}` : line);
    }
  }
  if (keys.allowedSigners.length + keys.openPgp.length > 0) return keys;
  throw keysError('git.verifyKeysEmpty', 'the Secret of spec.git.verify contains no key');
}

function linesOf(text: string): string[] {
  return text.split(/\r?\n/).flatMap((line) => (line.trim() === '' || line.startsWith('#') ? [] : [line.trim()]));
}

/** Creates a gpg(1) keyring in a directory; needs neither a user name nor gpg's daemon. */
async function importOpenPgpKeys(keys: string[], directory: string): Promise<void> {
  const file = join(directory, 'keys.asc');
  await writeFile(file, keys.join('\n'));
  const args = ['--homedir', directory, '--batch', '--quiet', '--no-autostart', '--import', file];
  await promisify(execFile)('gpg', args, { timeout: 30_000 }).catch((cause) => {
    throw new TransientError('gpg cannot read the OpenPGP keys of spec.git.verify: check that the image contains gpg', {
      code: 'git.signatureTool',
      reason: 'SignatureInvalid',
      cause,
    });
  });
}
