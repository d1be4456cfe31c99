import { isCommitHash, isValidRefName } from '../../shared/domain/git/check-ref-name.ts';
import { TerminalError, TransientError } from '../../shared/errors.ts';
import type { Git } from '../../shared/io/git/git.ts';
import type { GitAccess } from '../../shared/io/git/git-environment.ts';
import { saidNothing } from '../../shared/io/git/git-process.ts';
import { HARMLESS_FAULTS, isHarmless } from './fsck-faults.ts';
import { NO_FILES, PROMISOR, promisorSettings } from './promisor.ts';
import { healClone } from './tidy-clone.ts';
import { type TransferLimits, transfer } from './transfer.ts';

/** A commit, its repository, and the ref that pointed to it. */
export interface CommitSource {
  repo: string;
  ref: string;
  commit: string;
  /** Time limit for one fetch (ms). */
  fetchTimeoutMs?: number | undefined;
}

export interface FetchOptions {
  gitDir: string;
  access: GitAccess;
  signal: AbortSignal | undefined;
  /** Whether files are missing from the repository on purpose, or can be from now on. */
  isPartial: boolean;
  /** Files that the server must leave out, as in `git rev-list --filter`; undefined for none. */
  filter: string | undefined;
  /** Whether to hide existing objects from the server, so that it sends everything. */
  isRefetch?: boolean;
  limits?: TransferLimits | undefined;
}

/** The ref of the last fetch: git sets it only when all objects of the commit have arrived. */
export const FETCHED_REF = 'refs/sync/current';

/**
 * Creates a pack for each fetch, which arrives completely or not at all. Keeps large files and further threads out of
 * memory, has git check all objects that arrive, and offers a server no refs of a repository whose objects are borrowed
 * (`true` lists none).
 */
const TRANSFER_SETTINGS = [
  'core.alternateRefsCommand=true',
  'core.bigFileThreshold=4m',
  'pack.threads=1',
  'fetch.unpackLimit=1',
  'fetch.fsckObjects=true',
  ...HARMLESS_FAULTS.map((fault) => `fetch.fsck.${fault}=ignore`),
].flatMap((setting) => ['-c', setting]);
const TRANSFER_FLAGS = [
  '--quiet',
  '--no-tags',
  '--no-write-fetch-head',
  '--no-recurse-submodules',
  '--no-auto-maintenance',
];

/** The filter that was used. */
type Filter = FetchOptions['filter'];

/**
 * Fetches one commit without its history, and returns the filter that worked. If the server doesn't serve commits by
 * ID, fetches the ref, which must then point to that commit.
 */
export async function fetchCommit(git: Git, source: CommitSource, options: FetchOptions): Promise<Filter> {
  try {
    return await fetchOne(git, { ...source, name: source.commit, to: FETCHED_REF }, options);
  } catch (error) {
    if (!isRefused(error)) throw error;
    if (isCommitHash(source.ref)) throw commitNotServed(source.ref, error);
    if (!isValidRefName(source.ref)) throw error;
  }
  const fetched = await fetchFirst(git, { ...source, names: qualifiedNames(source.ref) }, options);
  if (fetched) return fetched.filter;
  throw new TransientError(
    `the git server does not serve commit ${source.commit} by its hash, and ${source.ref} no longer leads to it`,
    { code: 'git.commitNotServed', reason: 'CommitNotServed' },
  );
}

const commitNotServed = (commit: string, cause: unknown) =>
  new TerminalError(
    `the git server has no commit ${commit}, or doesn't serve it by its hash: check spec.git.ref, or specify a branch or tag`,
    { code: 'git.commitNotServed', reason: 'CommitNotServed', cause },
  );

/** A ref, and the commit that it must point to, if known. */
export interface RefSource extends Omit<CommitSource, 'commit'> {
  commit: string | undefined;
}

/** Fetches the commit that a ref points to, and returns its ID. Throws {@link TerminalError} if there is none. */
export async function fetchRef(git: Git, source: RefSource, options: FetchOptions): Promise<string> {
  const { ref, commit } = source;
  const names = isCommitHash(ref) ? [ref] : [...(commit ? [commit] : []), ...qualifiedNames(ref)];
  const fetched = await fetchFirst(git, { ...source, names }, options);
  if (fetched) return fetched.id;
  const what = commit && commit !== ref ? `${ref} that leads to commit ${commit}` : ref;
  throw new TerminalError(`the repository has no ${what}`, { code: 'git.refNotFound', reason: 'RefNotFound' });
}

/** Fetches the first of the names that points to the commit, or to any commit if it is unknown. */
async function fetchFirst(
  git: Git,
  { names, commit, ...source }: RefSource & { names: string[] },
  options: FetchOptions,
): Promise<{ id: string; filter: Filter } | undefined> {
  for (const name of names) {
    try {
      const filter = await fetchOne(git, { ...source, name, to: FETCHED_REF }, options);
      const id = await fetchedCommit(git, options.gitDir);
      if (id && (commit === undefined || id === commit)) return { id, filter };
    } catch (error) {
      if (!isRefused(error)) throw error;
    }
  }
  return undefined;
}

/** Returns the commit if it has arrived completely. Throws {@link TransientError} if git can't check. */
export async function fetchedCommit(git: Git, gitDir: string, ref = FETCHED_REF): Promise<string | undefined> {
  return await idOf(git, gitDir, `${ref}^{commit}`);
}

/** Returns the object that was fetched last, of any kind, if it exists. Throws like {@link fetchedCommit}. */
export async function fetchedObject(git: Git, gitDir: string): Promise<string | undefined> {
  return await idOf(git, gitDir, `${FETCHED_REF}^{object}`);
}

async function idOf(git: Git, gitDir: string, revision: string): Promise<string | undefined> {
  const args = [`--git-dir=${gitDir}`, 'rev-parse', '--verify', '--quiet', revision];
  return await git.run(args).then(
    (output) => output.toString('utf8').trim(),
    (error) => {
      if (saidNothing(error)) throw error;
      return undefined;
    },
  );
}

/** The short name of a tag. */
export const tagNameOf = (ref: string): string => ref.replace(/^refs\/tags\//, '');

interface RefFetch extends Pick<CommitSource, 'repo' | 'fetchTimeoutMs'> {
  /** A ref or an ID. */
  name: string;
  /** The local ref to set. */
  to: string;
}

/** Fetches, and retries in other ways if the server can't do it as requested. Returns the filter that worked. */
export async function fetchOne(git: Git, wanted: RefFetch, options: FetchOptions): Promise<Filter> {
  try {
    await fetchOnce(git, wanted, options);
    return options.filter;
  } catch (error) {
    const fallback = fallbackOf(error, options);
    if (!fallback) throw error;
    await healClone(options.gitDir);
    return await fetchOne(git, wanted, { ...options, ...fallback });
  }
}

/**
 * Returns options for another try. A server assumes that the clone has files that it omitted earlier, and can send
 * deltas against them: then no files are requested, or everything again. With a filter, git also rejects harmless
 * faults: then everything is requested as if the clone were empty.
 */
function fallbackOf(error: unknown, options: FetchOptions): Partial<FetchOptions> | undefined {
  const { isPartial, filter, isRefetch } = options;
  if (filter && isHarmless(error)) return { filter: undefined, isRefetch: true };
  if (!isPartial || isRefetch || filter === NO_FILES || !isForWantOfBases(error)) return undefined;
  return filter ? { filter: NO_FILES } : { isRefetch: true };
}

/** Checks whether git needed further objects during a fetch, which it isn't allowed to request. */
const isForWantOfBases = (error: unknown): boolean =>
  error instanceof Error && /warning: lazy fetching disabled/.test(String(error.cause));

async function fetchOnce(
  git: Git,
  { repo, name, to, fetchTimeoutMs: timeoutMs }: RefFetch,
  options: FetchOptions,
): Promise<void> {
  const { gitDir, access, signal, limits, isPartial, filter, isRefetch } = options;
  const flags = [...TRANSFER_FLAGS, '--depth=1', '--force', ...(isRefetch ? ['--refetch'] : [])];
  const settings = [...TRANSFER_SETTINGS, ...(isPartial ? promisorSettings(repo, filter) : [])];
  // A remote that is configured as a promisor filters by itself.
  const origin = isPartial
    ? [...(filter ? [] : ['--no-filter']), '--end-of-options', PROMISOR]
    : ['--end-of-options', repo];
  const args = [...settings, 'fetch', ...flags, ...origin, `+${name}:${to}`];
  await transfer(git, args, { gitDir, access, signal, timeoutMs, limits });
}

/** A short name that is both a tag and a branch means the tag. */
function qualifiedNames(ref: string): string[] {
  return ref === 'HEAD' || ref.startsWith('refs/') ? [ref] : [`refs/tags/${ref}`, `refs/heads/${ref}`];
}

const isRefused = (error: unknown): boolean => error instanceof TerminalError && error.code === 'git.refNotFound';

/** Number of IDs that fit into a request of 1 MiB. Git sends larger ones in chunks, which some proxies reject. */
const MAX_BLOBS_PER_REQUEST = 10_000;

interface WantedBlobs extends Pick<CommitSource, 'repo' | 'fetchTimeoutMs'> {
  blobs: string[];
}

/** Fetches files that were omitted by their IDs, in as few requests as possible. */
export async function fetchBlobs(
  git: Git,
  { repo, blobs, fetchTimeoutMs: timeoutMs }: WantedBlobs,
  { gitDir, access, signal, limits }: Pick<FetchOptions, 'gitDir' | 'access' | 'signal' | 'limits'>,
): Promise<void> {
  // Existing objects have nothing to do with the needed ones.
  const settings = [...TRANSFER_SETTINGS, '-c', 'fetch.negotiationAlgorithm=noop', ...promisorSettings(repo)];
  const flags = [...TRANSFER_FLAGS, '--no-filter', '--stdin', '--end-of-options', PROMISOR];
  const args = [...settings, 'fetch', ...flags];
  for (let start = 0; start < blobs.length; start += MAX_BLOBS_PER_REQUEST) {
    const input = blobs.slice(start, start + MAX_BLOBS_PER_REQUEST).join('\n');
    await transfer(git, args, { gitDir, access, signal, input, timeoutMs, limits });
  }
}
