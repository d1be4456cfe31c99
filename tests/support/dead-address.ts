import { once } from 'node:events';
import { connect } from 'node:net';
import process from 'node:process';
import { startGuarded } from '../../scripts/testbed/guarded-process.ts';
import type { Scope } from './clean-up.ts';

/** An address without a listener: every connection is refused. */
export const REFUSING = '127.0.0.9';

const listener = `require('node:net')
  .createServer()
  .listen({ port: Number(process.argv[1]), host: process.argv[2], backlog: 1 }, () => console.log('listening'))`;

/** Makes a port of an address silent, as behind a firewall: its queue is full, and never emptied. */
export async function silentAddress(t: Scope, port: number, address: string): Promise<string> {
  const guarded = startGuarded(process.execPath, ['-e', listener, String(port), address], { output: 'pipe' });
  t.after(() => guarded.stop(0));
  if (guarded.child.stdout) await once(guarded.child.stdout, 'data');
  guarded.child.kill('SIGSTOP');
  const waiting = Array.from({ length: 8 }, () => connect(port, address).on('error', () => {}));
  t.after(() => waiting.forEach((socket) => void socket.destroy()));
  await Promise.all(waiting.slice(0, 2).map((socket) => once(socket, 'connect')));
  return address;
}
