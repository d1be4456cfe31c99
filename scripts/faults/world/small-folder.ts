import { spawnSync } from 'node:child_process';
import { runCommand } from '../../testbed/run-command.ts';

const MIB = 3;

/** Puts a small disk at a folder, where this machine lets us mount one; gives what takes it away, or nothing if there is none. */
export async function smallFolder(folder: string): Promise<(() => Promise<void>) | undefined> {
  try {
    await runCommand('mount', ['-t', 'tmpfs', '-o', `size=${MIB}m`, 'tmpfs', folder]);
  } catch {
    return undefined;
  }
  const giveBack = () => void spawnSync('umount', ['--lazy', folder]);
  process.once('exit', giveBack);
  return async () => {
    process.off('exit', giveBack);
    giveBack();
  };
}

/** More than fits on such a disk. */
export const TOO_MUCH = Buffer.alloc((MIB + 1) * 1024 * 1024);
