import { TerminalError, TransientError } from '../../shared/errors.ts';
import { ContentReader } from '../content/content-reader.ts';
import type { Clone } from '../git/clone.ts';
import { tagNameOf } from '../git/fetch-commit.ts';
import { withGitAccess } from '../git/git-access.ts';
import type { DesiredFile } from '../plan/plan-input.ts';
import { type SyncAim, type SyncDependencies, syncProblems } from './sync-aim.ts';

/** Fetches the commit unless it is on disk, and keeps those that the gateway may have to go back to. */
export async function provideCommit(aim: SyncAim, dependencies: SyncDependencies): Promise<void> {
  await fetchUnlessThere(aim, dependencies);
  const { commit, earlier } = aim.intent;
  if (!earlier) return;
  const { clone, log } = dependencies;
  await clone.keep(commit, earlier).catch((error) => {
    log.warn({ err: error, commit }, 'commit not kept: going back to it will need the git host');
  });
}

async function fetchUnlessThere(aim: SyncAim, dependencies: SyncDependencies): Promise<void> {
  const { intent, mappings, signal } = aim;
  const { clone, accessFiles, onFetch } = dependencies;
  if (await clone.has(intent.commit)) return;
  const started = performance.now();
  const request = { ...intent, isWhole: mappings.some(({ source }) => source === '') };
  await withGitAccess(intent, accessFiles, (access) => clone.fetch(request, access, signal)).catch(async (error) => {
    if (isFull(error)) await makeRoom(aim, dependencies);
    throw error;
  });
  onFetch((performance.now() - started) / 1000);
}

/** Whether the volume of the clone has no room. */
export const isFull = (error: unknown): boolean => error instanceof TransientError && error.code === 'git.noSpace';

/** Git LFS writes to the same volume as git, which has its own words for it. */
function asGitSays(error: unknown): unknown {
  const isNoRoom = error instanceof TransientError && ['volume.ENOSPC', 'volume.EDQUOT'].includes(error.code);
  if (!isNoRoom) return error;
  return new TransientError(error.message, { code: 'git.noSpace', reason: 'CloneUnusable', cause: error });
}

/** Drops what is kept of Git LFS for commits that were never applied: the next try has its room. */
async function makeRoom({ manifest }: SyncAim, { clone, lfs }: SyncDependencies): Promise<void> {
  await lfs.tidy([...manifest.files.values()], (blobs) => clone.pointers(blobs));
}

/** Throws unless what must be signed is signed, and, in the case of a tag, is the tag that was asked for. */
export async function verifyCommit({ intent, signal }: SyncAim, dependencies: SyncDependencies): Promise<void> {
  const { clone, signatures, accessFiles } = dependencies;
  const { commit, ref } = intent;
  if (intent.verify === 'none') return;
  if (intent.verify === 'head') return await signatures.check({ kind: 'commit', id: commit, name: commit });
  const isWanted = (tag: Awaited<ReturnType<Clone['tag']>>) => tag?.commit === commit && tag.name === tagNameOf(ref);
  if (!isWanted(await clone.tag())) {
    await withGitAccess(intent, accessFiles, (access) => clone.fetchTag(intent, access, signal)).catch((error) => {
      if (!(error instanceof TerminalError && error.code === 'git.refNotFound')) throw error;
    });
  }
  const tag = await clone.tag();
  if (tag && isWanted(tag)) return await signatures.check({ kind: 'tag', id: tag.id, name: tag.name });
  throw syncProblems('SignatureInvalid', [
    `${ref} is no annotated tag of that name on commit ${commit}: it cannot be signed`,
  ]);
}

/**
 * Fetches the content of files that is not on disk, each kind of it at once: what the host was asked to leave out, and
 * what is in Git LFS.
 */
export async function provideFiles(
  files: DesiredFile[],
  { intent, signal }: SyncAim,
  { clone, lfs, accessFiles }: SyncDependencies,
): Promise<void> {
  if (files.length === 0) return;
  const blobs = files.map(({ blob }) => blob);
  const missing = await clone.missing(blobs);
  if (missing.length > 0) {
    await withGitAccess(intent, accessFiles, (access) => clone.fetchBlobs(intent, missing, { access, signal }));
  }
  const pointers = await lfs.missing(await clone.pointers(blobs));
  if (pointers.length === 0) return;
  await withGitAccess(intent, accessFiles, async (access) => {
    await lfs.fetch(pointers, { ...intent, access, signal }).catch((error) => {
      throw asGitSays(error);
    });
  });
}

/** Starts to read the content of files; has to be closed. */
export function openContents({ clone, lfs }: Pick<SyncDependencies, 'clone' | 'lfs'>): ContentReader {
  return new ContentReader(clone.blobs(), lfs);
}
