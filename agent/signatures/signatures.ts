import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TerminalError, TransientError } from '../../shared/errors.ts';
import type { Git } from '../../shared/io/git/git.ts';
import { importOpenPgpKeys } from './import-open-pgp-keys.ts';
import { type TrustedKeys, trustedKeys } from './trusted-keys.ts';

export interface SignatureOptions {
  git: Git;
  gitDir: string;
  /** Folder with the trusted keys, a file each: a mounted Secret. */
  keysFolder: string | undefined;
}

/** An object of the repository that must be signed, and how people call it. */
export interface SignedObject {
  kind: 'commit' | 'tag';
  id: string;
  name: string;
}

/** Checks signatures by git-verify-commit(1) and git-verify-tag(1) against the keys as they are now. */
export class Signatures {
  readonly #options: SignatureOptions;
  /** What was found to be signed, and by which keys it was judged. */
  #verified = '';

  constructor(options: SignatureOptions) {
    this.#options = options;
  }

  /** Throws {@link TerminalError} unless the object is signed by a trusted key. Asks git once for the same keys. */
  async check(object: SignedObject): Promise<void> {
    const values = await readKeys(this.#options.keysFolder);
    const result = trustedKeys(values);
    if (result.kind === 'problem') throw keysError(result.message);
    const key = createHash('sha256')
      .update(JSON.stringify([object, ...values]))
      .digest('hex');
    if (key === this.#verified) return;
    const folder = await mkdtemp(join(tmpdir(), 'sync-agent-keys-'));
    try {
      await this.#verify(object, result.keys, folder);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
    this.#verified = key;
  }

  async #verify({ kind, id, name }: SignedObject, keys: TrustedKeys, folder: string): Promise<void> {
    const { git, gitDir } = this.#options;
    const signersFile = join(folder, 'allowed_signers');
    await writeFile(signersFile, `${keys.allowedSigners.join('\n')}\n`);
    if (keys.openPgp.length > 0) await importOpenPgpKeys(keys.openPgp, folder);
    const config = ['-c', `gpg.ssh.allowedSignersFile=${signersFile}`, '-c', 'gpg.minTrustLevel=undefined'];
    const args = [...config, `--git-dir=${gitDir}`, `verify-${kind}`, '--raw', id];
    await git.run(args, { environment: { GNUPGHOME: folder } }).catch((cause) => {
      throw explain(`${kind} ${name}`, cause);
    });
  }
}

async function readKeys(folder: string | undefined): Promise<Map<string, string>> {
  const hint = 'the keys of spec.git.verify.keysSecretRef are not mounted: restart the pod after a change of it';
  if (!folder) throw keysError(hint);
  // Kubernetes keeps the versions of a mounted Secret in folders whose names begin with two dots.
  const names = (await readdir(folder).catch(() => [])).filter((name) => !name.startsWith('..')).sort();
  if (names.length === 0) throw keysError(hint);
  return new Map(
    await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name), 'utf8')] as const)),
  );
}

function explain(what: string, cause: unknown): Error {
  if (cause instanceof TransientError && cause.code === 'git.timeout') return cause;
  const complaint = String((cause as Error).cause ?? cause);
  if (/cannot run|No user exists|command not found|No such file/i.test(complaint)) {
    const message = `the signature of ${what} cannot be checked: the agent's image lacks ssh-keygen or gpg, or a user name`;
    return new TransientError(message, { code: 'git.signatureTool', reason: 'SignatureInvalid', cause });
  }
  return new TerminalError(`${what} has no signature by a key of spec.git.verify.keysSecretRef: nothing is applied`, {
    code: 'git.signature',
    reason: 'SignatureInvalid',
    cause,
  });
}

const keysError = (message: string) =>
  new TerminalError(message, { code: 'git.verifyKeys', reason: 'SignatureInvalid' });
