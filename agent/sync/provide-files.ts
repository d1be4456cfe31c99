import { withGitAccess } from '../git/git-access.ts';
import type { DesiredFile } from '../plan/plan-input.ts';
import type { Intent } from '../resource/judge-resource.ts';
import type { SyncDependencies } from './sync-dependencies.ts';

/**
 * Fetches the content of files that is not on disk, each kind of it at once: what the host was asked to leave out, and
 * what is in Git LFS.
 */
export async function provideFiles(
  files: DesiredFile[],
  intent: Intent,
  { dependencies, signal }: { dependencies: SyncDependencies; signal: AbortSignal },
): Promise<void> {
  const { clone, lfs, accessFiles } = dependencies;
  const { repo } = intent;
  const blobs = files.map(({ blob }) => blob);
  const missing = await clone.missing(blobs);
  if (missing.length > 0) {
    await withGitAccess(repo, accessFiles, (access) => clone.fetchBlobs(intent, missing, { access, signal }));
  }
  if (!lfs.isExpected) return;
  const pointers = await lfs.missing(await clone.pointers(blobs));
  if (pointers.length === 0) return;
  await withGitAccess(repo, accessFiles, (access) => lfs.fetch(pointers, { repo, access, signal }));
}
