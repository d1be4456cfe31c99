import type { Git } from '../../shared/io/git/git.ts';
import { startGitStream } from './git-stream.ts';
import type { TreeRequest } from './read-tree.ts';

/** How large a listing would be. */
export interface TreeSize {
  files: number;
  /** Of all paths. */
  bytes: number;
}

/** Counts the files of a commit below the sources without keeping any, by git ls-tree(1). */
export async function countTree(git: Git, { gitDir, commit, sources }: TreeRequest): Promise<TreeSize> {
  const paths = sources.includes('') ? [] : sources;
  const stream = startGitStream(git, gitDir, [
    'ls-tree',
    '-z',
    '-r',
    '--name-only',
    '--full-tree',
    commit,
    '--',
    ...paths,
  ]);
  stream.child.stdin?.end();
  const size = { files: 0, bytes: 0 };
  for await (const data of stream.output) {
    const chunk = data as Buffer;
    for (let end = chunk.indexOf(0); end !== -1; end = chunk.indexOf(0, end + 1)) size.files += 1;
    size.bytes += chunk.length;
  }
  await stream.finish();
  return { files: size.files, bytes: size.bytes - size.files };
}
