import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';

const run = promisify(execFile);

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
  const isMounted = await run('mount', ['-t', 'tmpfs', '-o', `size=16m,nr_inodes=${inodes}`, 'tmpfs', path]).then(
    () => true,
    () => false,
  );
  if (!isMounted) return t.skip('this machine lets nobody mount');
  try {
    await work();
  } finally {
    await run('umount', ['-l', path]);
  }
}
