import { once } from 'node:events';
import { connect } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startGuarded, tailOf } from '../../scripts/testbed/guarded-process.ts';
import type { TemporaryDirectory } from '../../scripts/testbed/temporary-directory.ts';

/** The port and the directory of a server on this machine, and its environment, if it isn't ours. */
interface DaemonOptions {
  port: number;
  directory: TemporaryDirectory;
  env?: NodeJS.ProcessEnv;
}

/**
 * Starts a server, and waits until it accepts connections. Returns a function that stops it and removes its directory.
 * Throws an error with the last lines of its log if it ends before that.
 */
export async function startDaemon(
  command: string,
  args: string[],
  { port, directory, env = process.env }: DaemonOptions,
): Promise<() => Promise<void>> {
  const log = path.join(directory.path, 'daemon.log');
  const daemon = startGuarded(command, args, { env, output: { log } });
  while (!(await accepts(port))) {
    if (daemon.hasExited()) throw new Error(`${command} ended:\n${await tailOf(log)}`);
    await sleep(20);
  }
  return async () => {
    await daemon.stop();
    await directory.remove();
  };
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
