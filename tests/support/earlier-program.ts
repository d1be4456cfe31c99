import { mkdir, symlink } from 'node:fs/promises';
import path from 'node:path';
import { git } from '../../scripts/testbed/git-command.ts';
import { runCommand, succeeds } from '../../scripts/testbed/run-command.ts';
import type { Scope } from './clean-up.ts';
import { temporaryDirectory } from './temporary-directory.ts';

const root = path.resolve(import.meta.dirname, '../..');

/** Checks whether the history of this checkout has a commit; a shallow clone may not. */
export const isKnownCommit = (commit: string): Promise<boolean> =>
  succeeds('git', ['cat-file', '-e', `${commit}^{commit}`], { cwd: root });

/** Builds a program as it was at a commit, with today's packages, and returns its bundle. */
export async function earlierProgram(t: Scope, program: 'controller' | 'agent', commit: string): Promise<string> {
  const directory = await temporaryDirectory(t, 'earlier-');
  const archive = path.join(directory, 'archive.tar');
  const checkout = path.join(directory, 'checkout');
  await mkdir(checkout);
  await git(root, ['archive', '--output', archive, commit, '--', ':!tests', ':!docs']);
  await runCommand('tar', ['-xf', archive, '-C', checkout]);
  await symlink(path.join(root, 'node_modules'), path.join(checkout, 'node_modules'));
  await runCommand(process.execPath, ['scripts/build.ts', program], { cwd: checkout });
  return path.join(checkout, 'dist', `${program}.mjs`);
}
