import { execFile } from 'node:child_process';
import type { GitRepository } from '../../../../../scripts/testbed/git-repository.ts';

/** An entry of a tree, in the bytes of git. */
export const treeEntry = (mode: string, name: string | Buffer, id: string): Buffer =>
  Buffer.concat([Buffer.from(`${mode} `), Buffer.from(name), Buffer.from('\0'), Buffer.from(id, 'hex')]);

/** A commit without parents, in the bytes of git. */
export const commitText = (tree: string, author = 'A <a@b.test> 1700000000 +0000'): Buffer =>
  Buffer.from(`tree ${tree}\nauthor ${author}\ncommitter ${author}\n\nx\n`);

/** Writes objects to a repository unchanged, even if git considers them invalid, and returns their IDs. */
export function objectWriter(directory: string) {
  return (type: 'blob' | 'tree' | 'commit' | 'tag', content: Buffer): Promise<string> =>
    new Promise((resolve, reject) => {
      const args = ['hash-object', '-w', '--literally', '--stdin', '-t', type];
      const child = execFile('git', args, { cwd: directory }, (error, output) =>
        error ? reject(error) : resolve(output.trim()),
      );
      // Its status tells what went wrong.
      child.stdin?.on('error', () => {});
      child.stdin?.end(content);
    });
}

export type RawEntry = readonly [mode: string, name: string | Buffer, id: string];

/** Commits to a repository what git itself wouldn't. */
export function rawCommits({ path, git }: Pick<GitRepository, 'path' | 'git'>) {
  const write = objectWriter(path);
  return {
    write,
    blobOf: (content: string | Buffer) => write('blob', Buffer.from(content)),
    treeOf: (...entries: RawEntry[]) => write('tree', Buffer.concat(entries.map((entry) => treeEntry(...entry)))),
    /** Makes a commit of a tree the tip of main. */
    commitTree: async (tree: string, author?: string) => {
      const commit = await write('commit', commitText(tree, author));
      await git('update-ref', 'refs/heads/main', commit);
      return commit;
    },
  };
}
