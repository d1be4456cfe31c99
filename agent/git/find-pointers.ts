import type { Git } from '../../shared/io/git/git.ts';
import { isLfsPointer, type LfsPointer, MAX_POINTER_BYTES, parseLfsPointer } from '../lfs/lfs-pointer.ts';
import { BlobReader } from './blob-reader.ts';

/** The pointers of Git LFS among blobs; those that are not in the repository are passed over. */
export async function findPointers(git: Git, gitDir: string, blobs: string[]): Promise<LfsPointer[]> {
  if (blobs.length === 0) return [];
  const input = [...new Set(blobs)].join('\n');
  const args = [`--git-dir=${gitDir}`, 'cat-file', '--buffer', '--batch-check=%(objectsize) %(objectname)'];
  const lines = (await git.run(args, { input })).toString('latin1').split('\n');
  const small = lines.flatMap((line) => {
    const [, size, blob] = /^(\d+) ([0-9a-f]+)$/.exec(line) ?? [];
    return blob && Number(size) < MAX_POINTER_BYTES ? [blob] : [];
  });
  const reader = new BlobReader(git, gitDir);
  try {
    reader.announce(small);
    const pointers: LfsPointer[] = [];
    for (const blob of small) {
      const chunks: Buffer[] = [];
      for await (const chunk of (await reader.open(blob)).chunks) chunks.push(chunk);
      const content = Buffer.concat(chunks);
      const pointer = isLfsPointer(content, content.length) ? parseLfsPointer(content) : undefined;
      if (pointer) pointers.push(pointer);
    }
    return pointers;
  } finally {
    await reader.close();
  }
}
