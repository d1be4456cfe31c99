import type { Git } from '../../shared/io/git/git.ts';
import { startGitStream } from './git-stream.ts';

export interface TreeRequest {
  gitDir: string;
  commit: string;
  /** Paths to list with everything below; `''` is the whole tree. */
  sources: string[];
  /** Whether to list the `.gitattributes` of the directories above the sources as well. */
  withAttributes?: boolean;
  signal?: AbortSignal | undefined;
}

/** How large a listing would be. */
export interface TreeSize {
  files: number;
  folders: number;
  /** Of the paths of all files. */
  bytes: number;
  /** Of the paths of all folders. */
  folderBytes: number;
  /** Whether it was counted to the end. */
  isComplete: boolean;
}

/** Of the mode in front of each path. */
export const MODE_BYTES = 6;
/** The mode of a folder is the only one that begins with it. */
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
  const counter = new TreeCounter(MODE_BYTES);
  for await (const data of stream.output) {
    counter.take(data as Buffer);
    if (!isEnough(counter.size)) continue;
    stream.kill();
    return counter.size;
  }
  await stream.finish();
  return { ...counter.size, isComplete: true };
}

/** Counts the records of a listing, which come in pieces: the mode, more up to so many bytes, the path, NUL. */
export class TreeCounter {
  readonly size: TreeSize = { files: 0, folders: 0, bytes: 0, folderBytes: 0, isComplete: false };
  readonly #prefix: number;
  #isStart = true;
  #isFolder = false;
  /** Of a record that is kept and has not ended yet. */
  #pieces: Buffer[] = [];

  constructor(prefix: number) {
    this.#prefix = prefix;
  }

  /** Nothing is kept but what `onFile` is called for: the records of files, without the NUL. */
  take(chunk: Buffer, onFile?: (record: Buffer) => void): void {
    const { size } = this;
    for (let at = 0; at < chunk.length; ) {
      if (this.#isStart) this.#isFolder = chunk[at] === ZERO;
      const kind = this.#isFolder ? 'folderBytes' : 'bytes';
      if (this.#isStart) size[kind] -= this.#prefix;
      const nul = chunk.indexOf(0, at);
      const end = nul === -1 ? chunk.length : nul;
      this.#isStart = nul !== -1;
      size[kind] += end - at;
      if (onFile && !this.#isFolder) this.#keep(chunk.subarray(at, end), onFile);
      if (this.#isStart) size[this.#isFolder ? 'folders' : 'files'] += 1;
      at = end + 1;
    }
  }

  #keep(piece: Buffer, onFile: (record: Buffer) => void): void {
    if (this.#isStart && this.#pieces.length === 0) {
      onFile(piece);
      return;
    }
    this.#pieces.push(piece);
    if (!this.#isStart) return;
    onFile(Buffer.concat(this.#pieces));
    this.#pieces = [];
  }
}
