import { wholeOf } from '../git/blob-reader.ts';
import { provideBlobs } from '../git/provide-blobs.ts';
import type { SyncAim } from './sync-aim.ts';
import type { SyncDependencies } from './sync-dependencies.ts';

export interface BlobsToRead {
  blobs: Iterable<string>;
  /** Maximum size (bytes). */
  maxBytes: number;
  /** Called with the content of each blob, which is undefined if it's larger. */
  onContent: (blob: string, content: Buffer | undefined) => void;
}

/** Reads small blobs, each once. Fetches those that aren't on disk, all at once. */
export async function readBlobs(
  { blobs, maxBytes, onContent }: BlobsToRead,
  aim: SyncAim,
  dependencies: Pick<SyncDependencies, 'clone' | 'accessFiles'>,
): Promise<void> {
  const distinct = [...new Set(blobs)];
  if (distinct.length === 0) return;
  await provideBlobs(distinct, aim, dependencies);
  await using reader = dependencies.clone.blobs();
  reader.announce(distinct);
  for (const blob of distinct) {
    const content = await reader.open(blob);
    if (content.size <= maxBytes) onContent(blob, await wholeOf(content));
    else {
      for await (const _ of content.chunks); // must be read to the end
      onContent(blob, undefined);
    }
  }
}
