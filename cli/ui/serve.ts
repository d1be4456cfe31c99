import { once } from 'node:events';
import { createServer } from 'node:net';
import { messageOf } from '../../shared/errors.ts';
import { listen } from '../../shared/io/http/listen.ts';
import type { Access } from '../client/connect.ts';
import { EXIT, Problem } from '../client/problem.ts';
import { createApp } from './app.ts';
import { loadAssets } from './assets.ts';
import { Board } from './board.ts';
import { Desk } from './desk.ts';
import { Door } from './door.ts';
import { Mirror } from './mirror.ts';

export interface ServeOptions {
  access: Access;
  /** If omitted, all namespaces. */
  namespace: string | undefined;
  /** If omitted, any free port. */
  port: number | undefined;
  now: () => number;
}

/** A running server of the page. */
export interface Served {
  /** The address to print. */
  address: string;
  /** Returns a one-time address for a program that opens it. */
  makeTicket: () => string;
  stop: () => Promise<void>;
}

const HOST = '127.0.0.1';
const MAX_CONNECTIONS = 128;
/** Time for open streams to close on exit (ms). Pages reconnect on their own. */
const GRACE_MS = 200;

/** Serves the page on the loopback interface. Throws `Problem` if the cluster or the port is unavailable. */
export async function servePage({ access, namespace, port, now }: ServeOptions): Promise<Served> {
  const mirror: Mirror = new Mirror({
    access,
    namespace,
    now,
    onChange: (changed, name) => board.mark(changed, name),
    onNews: () => board.wake(),
  });
  const board = new Board(mirror);
  const stop = () => {
    mirror.stop();
    board.stop();
  };
  try {
    await mirror.start();
    const chosen = port ?? (await freePort());
    const door = new Door(`${HOST}:${chosen}`);
    const { context, server } = access;
    const place = { context, server, namespace };
    const handler = createApp({ door, board, desk: new Desk(access, mirror), assets: loadAssets(), place });
    const listening = await listenAt(chosen, handler);
    return {
      address: door.address,
      makeTicket: () => door.makeTicket(),
      stop: async () => {
        stop();
        await listening.close(GRACE_MS);
      },
    };
  } catch (error) {
    stop();
    throw error;
  }
}

async function listenAt(port: number, handler: Parameters<typeof listen>[0]['handler']) {
  try {
    return await listen({ handler, host: HOST, port, maxConnections: MAX_CONNECTIONS });
  } catch (error) {
    throw new Problem(
      `cannot listen on port ${port}: ${messageOf(error)}: choose a different one with --port`,
      EXIT.failed,
    );
  }
}

/** Finds a free port, because listhen treats 0 as 3000. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, HOST);
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}
