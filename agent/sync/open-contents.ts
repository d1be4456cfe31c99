import { ContentReader } from '../content/content-reader.ts';
import type { SyncDependencies } from './sync-dependencies.ts';

/** Starts to read the content of files; has to be closed. */
export function openContents({ clone, lfs }: Pick<SyncDependencies, 'clone' | 'lfs'>): ContentReader {
  return new ContentReader(clone.blobs(), lfs);
}
