import { runCommand } from '../../scripts/testbed/run-command.ts';
import { until } from './until.ts';

/** Returns whether a process has ended, after waiting up to `timeout` milliseconds. */
export function isGone(pid: number, timeout = 30_000): Promise<boolean> {
  const hasEnded = async () => {
    // ps fails for an unknown id. A zombie has ended; in a container it may never be collected.
    const state = await runCommand('ps', ['-o', 'stat=', '-p', String(pid)]).catch(() => 'Z');
    return state.trim().startsWith('Z');
  };
  return until(hasEnded, { describe: `the end of process ${pid}`, timeout }).then(
    () => true,
    () => false,
  );
}
