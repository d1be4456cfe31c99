import type { GitAccess } from '../../shared/io/git/git-environment.ts';
import type { Intent } from '../resource/judge-resource.ts';
import type { Clone } from './clone.ts';
import { type AccessFiles, withGitAccess } from './git-access.ts';

/** Fetches the blobs that were omitted. Reads no credentials and queries no server if there are none. */
export async function provideBlobs(
  blobs: string[],
  { intent, signal }: { intent: Intent; signal: AbortSignal },
  { clone, accessFiles }: { clone: Clone; accessFiles: AccessFiles },
): Promise<void> {
  const missing = await clone.missing(blobs, signal);
  if (missing.length === 0) return;
  const fetch = (access: GitAccess) => clone.fetchBlobs(intent, missing, { access, signal });
  await withGitAccess({ ...intent, signal }, accessFiles, fetch);
}
