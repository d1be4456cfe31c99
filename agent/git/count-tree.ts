import type { Git } from '../../shared/io/git/git.ts';
import { startGitStream } from './git-stream.ts';
import type { TreeRequest } from './read-tree.ts';

/** How large a listing would be. */
export interface TreeSize {
  files: number;
  folders: number;
  /** Of the paths of all files. */
  bytes: number;
  /** Whether it was counted to the end. */
  isComplete: boolean;
}

/** Of the mode in front of each path. */
const MODE_BYTES = 6;
const ZERO = 0x30;

/**
 * Counts what a commit has below the sources without keeping any, by git ls-tree(1), until it is enough: a commit of a
 * few objects can list more files than there are bytes in the world.
 */
export async function countTree(
  git: Git,
  { gitDir, commit, sources, signal }: TreeRequest,
  isEnough: (size: TreeSize) => boolean,
): Promise<TreeSize> {
  const paths = sources.includes('') ? [] : sources;
  // Folders count, too: git may go through any number of them and find no file.
  const args = ['ls-tree', '-z', '-r', '-t', '--format=%(objectmode)%(path)', '--full-tree', commit, '--', ...paths];
  const stream = startGitStream(git, gitDir, args, signal);
  stream.child.stdin?.end();
  const size: TreeSize = { files: 0, folders: 0, bytes: 0, isComplete: false };
  const count = counterOf(size);
  for await (const data of stream.output) {
    count(data as Buffer);
    if (!isEnough(size)) continue;
    stream.kill();
    return size;
  }
  await stream.finish();
  return { ...size, isComplete: true };
}

/** Takes records in pieces: `<mode><path>NUL`, where the mode of a folder is the only one that begins with a zero. */
function counterOf(size: TreeSize): (chunk: Buffer) => void {
  let isStart = true;
  let isFolder = false;
  return (chunk) => {
    for (let at = 0; at < chunk.length; ) {
      if (isStart) isFolder = chunk[at] === ZERO;
      const nul = chunk.indexOf(0, at);
      const end = nul === -1 ? chunk.length : nul;
      isStart = nul !== -1;
      if (!isFolder) size.bytes += end - at - (isStart ? MODE_BYTES : 0);
      if (isStart) size[isFolder ? 'folders' : 'files'] += 1;
      at = end + 1;
    }
  };
}
