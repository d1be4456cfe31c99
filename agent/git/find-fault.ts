import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { TerminalError, TransientError } from '../../shared/errors.ts';
import type { Git } from '../../shared/io/git/git.ts';

/** A commit whose objects are looked at, and the refs of what else belongs to it. */
interface Suspect {
  gitDir: string;
  commit: string;
  /** As in `git rev-list --glob`. */
  refs: string;
  signal: AbortSignal | undefined;
}

/** Time for a look at all that is there, in milliseconds. */
export const CHECK_TIMEOUT_MS = 300_000;
const SMALL = ['-c', 'core.bigFileThreshold=1m', '-c', 'pack.threads=1'];

/**
 * Whether all packs hold the bytes that git wrote, by git verify-pack(1). Git checked what a host sent before it wrote
 * that, so no host can bring this about. What git cannot find out does not count as damage.
 */
export async function arePacksIntact(git: Git, gitDir: string, signal: AbortSignal | undefined): Promise<boolean> {
  const folder = join(gitDir, 'objects/pack');
  const names = new Set(await readdir(folder).catch(() => []));
  // Without its index a pack is nothing to git, nor is an index without its pack.
  const packs = [...names].filter((name) => name.endsWith('.pack') && names.has(name.replace(/pack$/, 'idx')));
  if (packs.length === 0) return true;
  const args = [...SMALL, `--git-dir=${gitDir}`, 'verify-pack', ...packs.map((name) => join(folder, name))];
  return await git.run(args, { timeoutMs: CHECK_TIMEOUT_MS, signal }).then(
    () => true,
    (error) => {
      signal?.throwIfAborted();
      return !saidSomethingElse(error);
    },
  );
}

/** Whether git ended with words that mean nothing else: it did run, and had room and memory. */
const saidSomethingElse = (error: unknown): boolean =>
  error instanceof TransientError && ['git.unreachable', 'git.brokeOff'].includes(error.code);

/** Whether an object of the commit is of another kind than the entry that names it says. */
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

/** Whether git stopped at such an object: that is no damage. */
export const isOfOtherKind = (error: unknown): boolean =>
  error instanceof Error &&
  /error: object [0-9a-f]+ (?:is a [a-z]+, )?not a [a-z]+|has (?:blob|tree) mode, but is not a/i.test(
    String(error.cause),
  );

const INCOMPLETE =
  /fatal: (?:did not receive expected object|Not all child objects of|bad object [0-9a-f]{40})|did not send all necessary objects/;
const DAMAGED = /fatal: (?:pack (?:has|is|signature|version)|protocol error: bad pack header)\b/;
/** Since 2.43 git counts how deep folders are; before, it crashes at some depth. */
const TOO_DEEP = /exceeded maximum allowed tree depth|(?:rev-list|--shallow-file) died of signal 11\b/;

/** Whether git stopped at folders that are nested too deep for it, by what it printed: that is no damage. */
export const isTooDeep = (printed: string): boolean => TOO_DEEP.test(printed);

/** Says of a fetch that failed, and not because of what is on disk, that the commit or the host is at fault where git says so. */
export function faultOfFetch(error: unknown, commit: string): unknown {
  if (!(error instanceof TransientError) || error.code !== 'git.unreachable') return error;
  if (isOfOtherKind(error)) return otherKind(`commit ${commit} has an entry whose object has the wrong type`, error);
  const printed = String(error.cause);
  if (isTooDeep(printed)) return tooDeep(error);
  if (DAMAGED.test(printed)) return badPack(error);
  return INCOMPLETE.test(printed) ? leftOut(commit, error) : error;
}

const invalid = (message: string, cause: unknown): TerminalError =>
  new TerminalError(message, { code: 'commit.invalid', reason: 'ContentInvalid', cause });

export const tooLong = (): TerminalError =>
  invalid('the commit has a path longer than 1 MiB: remove it in a new commit', undefined);

export const tooDeep = (cause: unknown): TerminalError =>
  invalid('the commit has directories that are nested too deep for git: flatten them in a new commit', cause);

const badPack = (cause: unknown): TransientError =>
  new TransientError(
    'the git server sent a damaged pack; retrying. If it happens again, run git fsck on the server and check the proxies in between',
    { code: 'git.badPack', reason: 'CommitNotServed', cause },
  );

/** An object of a commit is there, and of another kind than it has to be. */
export const otherKind = (what: string, cause?: unknown): TerminalError =>
  invalid(`${what}: commit rejected; remove the entry in a new commit`, cause);

/** A ref leads to something else: hosts let tags name anything. */
export const noCommit = (id: string, cause: unknown): TerminalError =>
  invalid(`${id} isn't a commit: point the ref at one`, cause);

/** A host was asked for everything of a commit, and some of it is not there. */
export const leftOut = (commit: string, cause: unknown): TransientError =>
  new TransientError(
    `the git server omitted required objects of commit ${commit}; retrying. If it happens again, run git fsck on the server`,
    { code: 'git.incomplete', reason: 'CommitNotServed', cause },
  );
