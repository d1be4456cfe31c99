import { setTimeout as sleep } from 'node:timers/promises';
import { runCommand } from '../../scripts/testbed/run-command.ts';

/** Returns whether a process has ended, after waiting up to `timeout` milliseconds. */
export async function isGone(pid: number, timeout = 30_000): Promise<boolean> {
  for (const deadline = Date.now() + timeout; Date.now() < deadline; await sleep(50)) {
    // ps fails for an unknown id. A zombie has ended; in a container it may never be collected.
    const state = await runCommand('ps', ['-o', 'stat=', '-p', String(pid)]).catch(() => 'Z');
    if (state.trim().startsWith('Z')) return true;
  }
  return false;
}
