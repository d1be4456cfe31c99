import { connect, createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { openPort } from './open-port.ts';

/** A TCP connection between two programs that a test can hold up, break, and refuse. */
export interface SlowLink {
  url: string;
  /** Number of open connections. */
  readonly size: number;
  /** Number of connections that were refused. */
  readonly refused: number;
  /** From now on nothing passes, either way. */
  hold(): void;
  /** What was held passes, and all that comes after it. */
  release(): void;
  /** The open connections stay open, and carry nothing more; new ones pass. */
  freeze(): void;
  /** Breaks all connections; new ones pass. */
  cut(): void;
  /** Breaks all connections, and refuses new ones. */
  refuse(): void;
  /** New connections pass again. */
  accept(): void;
}

/** Listens on a free port and passes what comes on to the host and port of `url`. */
export async function startSlowLink(t: TestContext, url: string): Promise<SlowLink> {
  const { hostname, port } = new URL(url);
  const sockets = new Set<Socket>();
  let isHeld = false;
  let isRefusing = false;
  let refused = 0;
  const server = createServer((client) => {
    client.on('error', () => {});
    if (isRefusing) {
      refused += 1;
      client.resetAndDestroy();
      return;
    }
    const upstream = connect(Number(port), hostname);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('data', (chunk) => to.write(chunk));
      from.on('error', () => {});
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
      if (isHeld) from.pause();
    }
  });
  const freeze = () => {
    for (const socket of sockets) socket.pause();
  };
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `https://127.0.0.1:${await openPort(t, server)}`,
    freeze,
    cut,
    hold: () => {
      isHeld = true;
      freeze();
    },
    release: () => {
      isHeld = false;
      for (const socket of sockets) socket.resume();
    },
    refuse: () => {
      isRefusing = true;
      cut();
    },
    accept: () => {
      isRefusing = false;
    },
    get size() {
      return sockets.size / 2;
    },
    get refused() {
      return refused;
    },
  };
}
