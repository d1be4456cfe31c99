import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { TerminalError, TransientError } from '../../shared/errors.ts';
import type { Git } from '../../shared/io/git/git.ts';

/** A commit to check, and the refs of other objects that belong to it. */
interface Suspect {
  gitDir: string;
  commit: string;
  /** As in `git rev-list --glob`. */
  refs: string;
  signal: AbortSignal | undefined;
}

/** Time limit for a check of all objects (ms). */
export const CHECK_TIMEOUT_MS = 300_000;
const SMALL = ['-c', 'core.bigFileThreshold=1m', '-c', 'pack.threads=1'];

/**
 * Checks with git verify-pack(1) whether all packs contain the bytes that git wrote. Git checked them when they
 * arrived, so a server can't cause such damage. If git can't finish the check, the packs are considered intact.
 */
export async function arePacksIntact(git: Git, gitDir: string, signal: AbortSignal | undefined): Promise<boolean> {
  const directory = join(gitDir, 'objects/pack');
  const names = new Set(await readdir(directory).catch(() => []));
  // Git ignores a pack without its index, and an index without its pack.
  const packs = [...names].filter((name) => name.endsWith('.pack') && names.has(name.replace(/pack$/, 'idx')));
  if (packs.length === 0) return true;
  const args = [...SMALL, `--git-dir=${gitDir}`, 'verify-pack', ...packs.map((name) => join(directory, name))];
  return await git.run(args, { timeoutMs: CHECK_TIMEOUT_MS, signal }).then(
    () => true,
    (error) => {
      signal?.throwIfAborted();
      return !saidSomethingElse(error);
    },
  );
}

/** Checks whether git failed for a reason that it couldn't name: it ran, and had enough memory and disk space. */
const saidSomethingElse = (error: unknown): boolean =>
  error instanceof TransientError && ['git.unreachable', 'git.brokeOff'].includes(error.code);

/** Checks whether an object of the commit has another type than its entry specifies. */
export async function holdsOtherKinds(git: Git, { gitDir, commit, refs, signal }: Suspect): Promise<boolean> {
  const what = ['--objects', '--quiet', '--filter=blob:none', `--glob=${refs}`, commit];
  const args = [...SMALL, `--git-dir=${gitDir}`, 'rev-list', ...what];
  return await git.run(args, { timeoutMs: CHECK_TIMEOUT_MS, signal }).then(
    () => false,
    (error) => {
      signal?.throwIfAborted();
      return isOfOtherKind(error);
    },
  );
}

/** Checks whether git stopped at an object of the wrong type, which isn't damage. */
export const isOfOtherKind = (error: unknown): boolean =>
  error instanceof Error &&
  /error: object [0-9a-f]+ (?:is a [a-z]+, )?not a [a-z]+|has (?:blob|tree) mode, but is not a/i.test(
    String(error.cause),
  );

const INCOMPLETE =
  /fatal: (?:did not receive expected object|Not all child objects of|bad object [0-9a-f]{40})|did not send all necessary objects/;
const DAMAGED = /fatal: (?:pack (?:has|is|signature|version)|protocol error: bad pack header)\b/;
/** Git 2.43 and later counts the depth of directories; earlier versions crash at some depth. */
const TOO_DEEP = /exceeded maximum allowed tree depth|(?:rev-list|--shallow-file) died of signal 11\b/;

/** Checks by git's output whether it stopped at directories that are nested too deep, which isn't damage. */
export const isTooDeep = (printed: string): boolean => TOO_DEEP.test(printed);

/** Returns an error that blames the commit or the server if git's output does. The clone must be known to be intact. */
export function faultOfFetch(error: unknown, commit: string): unknown {
  if (!(error instanceof TransientError) || error.code !== 'git.unreachable') return error;
  if (isOfOtherKind(error)) return otherKind(`commit ${commit} has an entry whose object has the wrong type`, error);
  const printed = String(error.cause);
  if (isTooDeep(printed)) return tooDeep(error);
  if (DAMAGED.test(printed)) return badPack(error);
  return INCOMPLETE.test(printed) ? incompleteError(commit, error) : error;
}

const invalid = (code: string, message: string, cause: unknown): TerminalError =>
  new TerminalError(message, { code, reason: 'ContentInvalid', cause });

export const tooLong = (): TerminalError =>
  invalid('commit.longPath', 'the commit has a path longer than 1 MiB: remove it in a new commit', undefined);

export const tooDeep = (cause: unknown): TerminalError =>
  invalid(
    'commit.tooDeep',
    'the commit has directories that are nested too deep for git: flatten them in a new commit',
    cause,
  );

const badPack = (cause: unknown): TransientError =>
  new TransientError(
    'the git server sent a damaged pack; retrying. If it happens again, run git fsck on the server and check the proxies in between',
    { code: 'git.badPack', reason: 'CommitNotServed', cause },
  );

/** An error for an object of a commit that has the wrong type. */
export const otherKind = (what: string, cause?: unknown): TerminalError =>
  invalid('commit.invalid', `${what}: commit rejected; remove the entry in a new commit`, cause);

/** An error for a ref that points to another object: servers let tags name anything. */
export const noCommit = (id: string, cause: unknown): TerminalError =>
  invalid('commit.otherObject', `${id} isn't a commit: point the ref at one`, cause);

/** An error for objects that are missing after a full fetch of the commit. */
export const incompleteError = (commit: string, cause: unknown): TransientError =>
  new TransientError(
    `the git server omitted required objects of commit ${commit}; retrying. If it happens again, run git fsck on the server`,
    { code: 'git.incomplete', reason: 'CommitNotServed', cause },
  );
