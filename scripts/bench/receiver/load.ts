import type { Socket } from 'node:net';
import { quantile } from '../table.ts';

export interface LoadOptions {
  /** Opens one of the connections; they are kept alive. */
  connect: () => Socket;
  connections: number;
  seconds: number;
  /** The bytes of the n-th request, head and body. */
  request: (n: number) => Buffer;
}

/** What came of a load. Latencies are in milliseconds. */
export interface LoadResult {
  perSecond: number;
  statuses: Record<string, number>;
  p50: number;
  p99: number;
}

/**
 * Sends requests over a number of connections, on each the next one as soon as the last one is answered. It writes and
 * reads bytes, since an HTTP client costs more than the server that is measured.
 */
export async function applyLoad({ connect, connections, seconds, request }: LoadOptions): Promise<LoadResult> {
  const statuses: Record<string, number> = {};
  const latencies: number[] = [];
  const started = performance.now();
  const until = started + seconds * 1000;
  let sent = 0;

  const work = (): Promise<void> =>
    new Promise((resolve) => {
      const socket = connect();
      let sentAt = 0;
      let received: Buffer = Buffer.alloc(0);
      let wasAnswered = true;
      const send = () => {
        sentAt = performance.now();
        if (sentAt >= until) return socket.end();
        received = Buffer.alloc(0);
        wasAnswered = false;
        socket.write(request(sent++));
      };
      socket.on('data', (chunk: Buffer) => {
        received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
        const status = statusOfWhole(received);
        if (status === undefined) return;
        wasAnswered = true;
        statuses[status] = (statuses[status] ?? 0) + 1;
        latencies.push(performance.now() - sentAt);
        send();
      });
      socket.on('error', () => {});
      socket.once('close', () => {
        if (!wasAnswered) statuses.broken = (statuses.broken ?? 0) + 1;
        resolve(performance.now() < until ? work() : undefined);
      });
      send();
    });

  await Promise.all(Array.from({ length: connections }, work));
  const elapsed = (performance.now() - started) / 1000;
  return {
    perSecond: latencies.length / elapsed,
    statuses,
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
  };
}

/** The status of an answer that is there whole; undefined before that. */
function statusOfWhole(received: Buffer): string | undefined {
  const end = received.indexOf('\r\n\r\n');
  if (end === -1) return undefined;
  const head = received.toString('latin1', 0, end).toLowerCase();
  const length = /\r\ncontent-length: (\d+)/.exec(head)?.[1];
  const isWhole =
    length === undefined
      ? received.toString('latin1', received.length - 5) === '0\r\n\r\n'
      : received.length >= end + 4 + Number(length);
  return isWhole ? head.slice(9, 12) : undefined;
}
