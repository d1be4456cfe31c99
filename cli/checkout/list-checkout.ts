import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { TreeEntry } from '../../agent/plan/plan-input.ts';
import { messageOf } from '../../shared/errors.ts';
import { Problem } from '../client/problem.ts';

const run = promisify(execFile);
const MAX_OUTPUT_BYTES = 512 * 1024 ** 2;

const KINDS: Record<string, TreeEntry['kind'] | undefined> = { '120000': 'link', '160000': 'submodule' };

/** Lists the files that git tracks in a directory, which it considers the root of the repository. Throws `Problem`. */
export async function listCheckout(directory: string, { submodules }: { submodules: boolean }): Promise<TreeEntry[]> {
  const more = submodules ? ['--recurse-submodules'] : [];
  const output = await git(directory, ['ls-files', '-z', '--stage', ...more]);
  return output.split('\0').flatMap((record) => {
    const [, mode = '', blob = '', path = ''] = /^(\d+) ([0-9a-f]+) \d\t(.*)$/s.exec(record) ?? [];
    if (path === '') return [];
    if (path.includes('\uFFFD')) return [{ path, blob, kind: 'unreadable' as const, executable: false }];
    return [{ path, blob, kind: KINDS[mode] ?? ('file' as const), executable: mode === '100755' }];
  });
}

/** Returns the commit that is checked out. Throws `Problem`. */
export async function readCommit(directory: string): Promise<string> {
  return (await git(directory, ['rev-parse', '--verify', 'HEAD'])).trim();
}

/** Returns the output of a git command in a directory. Throws `Problem`. */
export async function git(directory: string, args: string[]): Promise<string> {
  try {
    const { stdout } = await run('git', ['-C', directory, ...args], { maxBuffer: MAX_OUTPUT_BYTES });
    return stdout;
  } catch (error) {
    const { stderr } = error as { stderr?: string };
    throw new Problem(`git can't read the checkout ${directory}: ${stderr?.trim() || messageOf(error)}`, undefined, {
      cause: error,
    });
  }
}
