import { connect, createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { openPort } from '../../support/open-port.ts';

/** A TCP connection between two programs that a test can hold up and break. */
export interface SlowLink {
  url: string;
  /** Number of open connections. */
  readonly size: number;
  /** From now on nothing passes, either way. */
  hold(): void;
  /** What was held passes, and all that comes after it. */
  release(): void;
  /** Breaks all connections; new ones pass. */
  cut(): void;
}

/** Listens on a free port and passes what comes on to the host and port of `url`. */
export async function startSlowLink(t: TestContext, url: string): Promise<SlowLink> {
  const { hostname, port } = new URL(url);
  const sockets = new Set<Socket>();
  let isHeld = false;
  const server = createServer((client) => {
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
  return {
    url: `https://127.0.0.1:${await openPort(t, server)}`,
    hold: () => {
      isHeld = true;
      for (const socket of sockets) socket.pause();
    },
    release: () => {
      isHeld = false;
      for (const socket of sockets) socket.resume();
    },
    cut: () => {
      for (const socket of sockets) socket.destroy();
    },
    get size() {
      return sockets.size / 2;
    },
  };
}
