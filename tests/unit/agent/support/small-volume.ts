import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Works with a file system of 16 MiB at a path, or skips the test where nobody may mount one. */
export async function withSmallVolume(t: TestContext, path: string, work: () => Promise<void>): Promise<void> {
  await mkdir(path, { recursive: true });
  const isMounted = await run('mount', ['-t', 'tmpfs', '-o', 'size=16m', 'tmpfs', path]).then(
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
