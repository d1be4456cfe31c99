import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type GuardedProcess, tailOf } from './guarded-process.ts';

/** A server on this machine: its name, its port, and its log file. */
interface Daemon {
  name: string;
  port: number;
  log: string;
}

/** Waits until a daemon accepts connections. Throws an error with the last lines of its log if it ends before that. */
export async function untilListening({ hasExited }: GuardedProcess, { name, port, log }: Daemon): Promise<void> {
  while (!(await accepts(port))) {
    if (hasExited()) throw new Error(`${name} ended:\n${await tailOf(log)}`);
    await sleep(20);
  }
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
