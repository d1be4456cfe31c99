import { execFile } from 'node:child_process';

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
