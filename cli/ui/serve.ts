import type { RequestListener } from 'node:http';
import { causeOf } from '../../shared/domain/text/message-of.ts';
import { listen } from '../../shared/io/http/listen.ts';
import type { ServerLimits } from '../../shared/io/http/server-limits.ts';
import type { Access } from '../client/connect.ts';
import { Problem } from '../client/problem.ts';
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
const LIMITS: ServerLimits = {
  maxConnections: 128,
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 60_000,
};
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
    const assets = loadAssets();
    let answer: RequestListener = (_, response) => void response.writeHead(503).end();
    const listening = await listenAt(port, (request, response) => answer(request, response));
    const door = new Door(`${HOST}:${listening.port}`);
    const place = { context: access.context, namespace };
    answer = createApp({ door, board, desk: new Desk(access, mirror), assets, place });
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

async function listenAt(port: number | undefined, handler: RequestListener) {
  try {
    return await listen({ handler, host: HOST, port: port ?? 0, limits: LIMITS });
  } catch (error) {
    throw new Problem(
      `cannot listen on ${port === undefined ? 'any port' : `port ${port}`}: ${causeOf(error)}: choose a different one with --port`,
      'PageFailed',
    );
  }
}
