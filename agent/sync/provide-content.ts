import { TransientError } from '../../shared/errors.ts';
import { ContentReader } from '../content/content-reader.ts';
import { CLONE_VOLUME } from '../disk/volume-error.ts';
import type { FetchRequest } from '../git/clone.ts';
import { withGitAccess } from '../git/git-access.ts';
import { provideBlobs } from '../git/provide-blobs.ts';
import type { DesiredFile } from '../plan/plan-input.ts';
import type { Intent } from '../resource/judge-resource.ts';
import type { SyncAim } from './sync-aim.ts';
import type { SyncDependencies } from './sync-dependencies.ts';

/** What fetches a commit. */
type Fetching = Pick<SyncDependencies, 'clone' | 'accessFiles' | 'onFetch'>;
/** What the agent has fetched, and what is delivered of it. */
type Stored = Pick<SyncDependencies, 'clone' | 'lfs' | 'manifestFile'>;
/** What provides the content of files. */
type Contents = Pick<SyncDependencies, 'clone' | 'lfs' | 'accessFiles'>;

/** Fetches the commit unless it is on disk and can be read. */
export async function provideCommit(
  aim: SyncAim,
  dependencies: Fetching & Stored & Pick<SyncDependencies, 'log'>,
): Promise<void> {
  const { intent, mappings, manifest, isRefetch = false } = aim;
  const { clone, log } = dependencies;
  const isThere = await clone.adopt(intent.commit);
  await clone.pins.unpinOthers([intent.commit, manifest.applied?.commit]).catch((error) => {
    log.warn({ err: error }, 'earlier commits not unpinned');
  });
  if (isThere && !isRefetch) return;
  await fetch({ isWhole: mappings.some(({ source }) => source === '') }, aim, dependencies).catch(async (error) => {
    if (isFull(error)) await tidyLfs(dependencies); // for commits that were never applied
    throw error;
  });
}

/** Fetches the directories of a commit unless they are on disk, and pins it: its delivery then fetches only files. */
export async function provideCandidate(aim: SyncAim, dependencies: Fetching): Promise<void> {
  const { clone } = dependencies;
  const { commit } = aim.intent;
  await clone.repository.openFor(commit);
  if (aim.isRefetch || !(await clone.repository.holds(commit)))
    await fetch({ isWhole: false, isBare: true }, aim, dependencies);
  await clone.pins.pin(commit);
}

async function fetch(
  extent: Pick<FetchRequest, 'isWhole' | 'isBare'>,
  { intent, signal, isRefetch = false }: SyncAim,
  { clone, accessFiles, onFetch }: Fetching,
): Promise<void> {
  const started = performance.now();
  const request = { ...intent, ...extent, isRefetch };
  await withGitAccess({ ...intent, signal }, accessFiles, (access) => clone.fetch(request, access, signal));
  onFetch((performance.now() - started) / 1000);
}

/** Pins a commit for a later rollback of the gateway, if changes are rolled out in waves. */
export async function pinCommit(
  { commit, revision }: Intent,
  { clone, log }: Pick<SyncDependencies, 'clone' | 'log'>,
): Promise<void> {
  if (revision === undefined) return;
  await clone.pins.pin(commit).catch((error) => {
    log.warn({ err: error, commit }, 'commit not pinned: a rollback to it needs the git server');
  });
}

/** Drops content from Git LFS that neither delivered files nor pinned commits use. */
export async function tidyLfs({ clone, lfs, manifestFile }: Stored, signal?: AbortSignal): Promise<void> {
  const { files, applied } = await manifestFile.read();
  const history = { applied: applied?.commit, pinned: await clone.pins.commits() };
  await lfs.tidy([...files.values()], (blobs) => clone.pointers(blobs, signal), history);
}

/** Empties the clone volume for a commit, except for Git LFS content of delivered files. Throws if it doesn't help. */
export async function makeRoom(commit: string, cause: unknown, dependencies: Stored): Promise<void> {
  const { clone, lfs, manifestFile } = dependencies;
  if (!(await clone.repository.recreateForRoom(commit))) throw tooSmall(commit, cause);
  const { applied } = await manifestFile.read();
  await lfs.keepOnly(applied ? [applied.commit] : []);
}

const tooSmall = (commit: string, cause: unknown) =>
  new TransientError(
    `${CLONE_VOLUME} is full even after it was emptied for commit ${commit}: free disk space on the node, or map fewer files`,
    { code: 'git.noSpace', reason: 'CloneUnusable', cause },
  );

/** Checks whether the clone volume is full. */
export const isFull = (error: unknown): boolean => error instanceof TransientError && error.code === 'git.noSpace';

/** Converts a Git LFS error about a full volume to git's, because both write to the clone volume. */
function asGitSays(error: unknown): unknown {
  const isNoRoom = error instanceof TransientError && ['volume.ENOSPC', 'volume.EDQUOT'].includes(error.code);
  if (!isNoRoom) return error;
  return new TransientError(error.message, { code: 'git.noSpace', reason: 'CloneUnusable', cause: error });
}

/**
 * Fetches the content of files that isn't on disk, each kind at once: files that were omitted from a fetch, and files in
 * Git LFS.
 */
export async function provideFiles(files: DesiredFile[], aim: SyncAim, dependencies: Contents): Promise<void> {
  const { intent, signal } = aim;
  const { clone, lfs, accessFiles } = dependencies;
  await provideBlobs(
    files.map(({ blob }) => blob),
    aim,
    dependencies,
  );
  const inLfs = files.flatMap((file) => (file.lfs ? [file.blob] : []));
  const pointers = await lfs.missing(await clone.pointers(inLfs, signal));
  if (pointers.length === 0) return;
  await withGitAccess({ ...intent, signal }, accessFiles, async (access) => {
    await lfs.fetch(pointers, { ...intent, access, signal }).catch((error) => {
      throw asGitSays(error);
    });
  });
}

/** Opens the content of files, and fetches missing content; must be closed (`await using`). */
export function openContents(aim: SyncAim, dependencies: Contents): ContentReader {
  const { clone, lfs } = dependencies;
  const provide = (files: DesiredFile[]) => provideFiles(files, aim, dependencies);
  return new ContentReader({ openBlobs: () => clone.blobs(), lfs, provide });
}
