import { mkdir } from 'node:fs/promises';
import type { TestContext } from 'node:test';
import { runCommand, succeeds } from '../../../../scripts/testbed/run-command.ts';

interface SmallVolume {
  path: string;
  /** Maximum number of files and directories, including itself. If omitted, only space limits it. */
  inodes?: number;
}

/** Runs with a file system of 16 MiB at a path, or skips the test without permission to mount. */
export async function withSmallVolume(
  t: TestContext,
  { path, inodes = 0 }: SmallVolume,
  work: () => Promise<void>,
): Promise<void> {
  await mkdir(path, { recursive: true });
  const mount = ['-t', 'tmpfs', '-o', `size=16m,nr_inodes=${inodes}`, 'tmpfs', path];
  if (!(await succeeds('mount', mount))) return t.skip('this machine allows no mounts');
  try {
    await work();
  } finally {
    await runCommand('umount', ['-l', path]);
  }
}
