import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import path from 'node:path';
import { connect as connectTls } from 'node:tls';
import { startGuarded } from '../../scripts/testbed/guarded-process.ts';
import type { Scope } from './clean-up.ts';
import { connectBySocket, relayFromSocket } from './network-relay.ts';
import { temporaryDirectory } from './temporary-directory.ts';
import { until } from './until.ts';

/** A network namespace with the address `::1` and no IPv4 address. */
export interface Version6Network {
  /** Runs a program in it; see `ProgramOptions`. */
  within: string[];
  /** Returns the status of a GET request to `[::1]` in it, or 0 if the connection is refused. */
  statusOf(url: string): Promise<number>;
}

/**
 * Makes the namespace. Connections in it to one of the ports of `[::1]` lead to the same port of 127.0.0.1
 * outside. Undefined on a machine that doesn't allow namespaces.
 */
export async function makeVersion6Network(scope: Scope, ports: number[]): Promise<Version6Network | undefined> {
  const directory = await temporaryDirectory(scope, 'network-');
  const inward = path.join(directory, 'in');
  const outward = path.join(directory, 'out');
  const outside = relayFromSocket(outward, '127.0.0.1');
  scope.after(() => outside.close());
  const setUp = 'ip link set lo up && ip addr del 127.0.0.1/8 dev lo && exec "$@"';
  const relay = [process.execPath, path.join(import.meta.dirname, 'network-relay.ts'), inward, outward];
  const args = ['--map-root-user', '--net', 'sh', '-c', setUp, 'sh', ...relay, ...ports.map(String)];
  const holder = startGuarded('unshare', args, { output: 'pipe' });
  scope.after(() => holder.stop(0));
  let output = '';
  for (const stream of [holder.child.stdout, holder.child.stderr]) stream?.on('data', (text) => (output += text));
  const isReady = () => output.includes('relaying');
  await until(() => isReady() || holder.hasExited(), { describe: 'the namespace' });
  if (!isReady()) return undefined;
  return {
    within: ['nsenter', `--target=${holder.pid}`, '--user', '--net', '--preserve-credentials'],
    statusOf: (url) => statusOf(new URL(url), inward),
  };
}

function statusOf(url: URL, socket: string): Promise<number> {
  const port = Number(url.port);
  const open = () => connectBySocket(socket, port);
  const sent =
    url.protocol === 'https:'
      ? httpsRequest(url, { createConnection: () => connectTls({ socket: open(), rejectUnauthorized: false }) })
      : httpRequest(url, { createConnection: open });
  return new Promise((resolve) => {
    sent.on('response', (response) => resolve(response.resume().statusCode ?? 0)).on('error', () => resolve(0));
    sent.end();
  });
}
