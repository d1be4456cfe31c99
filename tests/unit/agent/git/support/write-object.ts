import { execFile } from 'node:child_process';

/** Writes objects to a repository as they stand, whatever git thinks of them, and gives their ids. */
export function objectWriter(folder: string) {
  return (type: 'blob' | 'tree' | 'commit', content: Buffer): Promise<string> =>
    new Promise((resolve, reject) => {
      const args = ['hash-object', '-w', '--literally', '--stdin', '-t', type];
      const child = execFile('git', args, { cwd: folder }, (error, output) =>
        error ? reject(error) : resolve(output.trim()),
      );
      // Its status tells what went wrong.
      child.stdin?.on('error', () => {});
      child.stdin?.end(content);
    });
}
