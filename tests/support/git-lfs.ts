import path from 'node:path';
import { findBinaries } from '../../scripts/testbed/find-binaries.ts';

/** Puts the git-lfs of the test bed on this process's PATH, before any that the machine has. */
export async function provideGitLfs(): Promise<void> {
  const { 'git-lfs': file } = await findBinaries('git-lfs');
  process.env.PATH = `${path.dirname(file)}${path.delimiter}${process.env.PATH ?? ''}`;
}
