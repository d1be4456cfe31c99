import { spawnSync } from 'node:child_process';
import { runCommand } from '../../testbed/run-command.ts';

const MIB = 3;

/** Mounts a small disk at a directory if this machine allows it; returns a function that unmounts it, or undefined. */
export async function mountSmallDisk(directory: string): Promise<(() => Promise<void>) | undefined> {
  try {
    await runCommand('mount', ['-t', 'tmpfs', '-o', `size=${MIB}m`, 'tmpfs', directory]);
  } catch {
    return undefined;
  }
  const giveBack = () => void spawnSync('umount', ['--lazy', directory]);
  process.once('exit', giveBack);
  return async () => {
    process.off('exit', giveBack);
    giveBack();
  };
}

/** Content that doesn't fit on such a disk. */
export const TOO_MUCH = Buffer.alloc((MIB + 1) * 1024 * 1024);
