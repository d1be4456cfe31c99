import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import type { Sandbox } from './sandbox.ts';

const run = promisify(execFile);

/** Works with a file system of 16 MiB where the clone is to be, or skips the test where nobody may mount one. */
export async function withSmallVolume(t: TestContext, { repo }: Sandbox, work: () => Promise<void>): Promise<void> {
  await mkdir(repo, { recursive: true });
  const isMounted = await run('mount', ['-t', 'tmpfs', '-o', 'size=16m', 'tmpfs', repo]).then(
    () => true,
    () => false,
  );
  if (!isMounted) return t.skip('this machine lets nobody mount');
  try {
    await work();
  } finally {
    await run('umount', ['-l', repo]);
  }
}
