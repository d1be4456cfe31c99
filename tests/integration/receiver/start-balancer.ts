import { connect, createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { openPort } from '../../support/open-port.ts';
import type { Receiver } from './start-receiver.ts';

/** Spreads connections over replicas, as a Service does: those that are ready get new ones, open ones stay where they are. */
export interface Balancer {
  port: number;
  /** Replicas that are looked after; a test puts them in and out. */
  replicas: Set<Receiver>;
}

const PROBE_MS = 100;

/** Listens on a free port until the test is over. */
export async function startBalancer(t: TestContext, replicas: Set<Receiver>): Promise<Balancer> {
  const ready = new Set<Receiver>(replicas);
  const probe = async (replica: Receiver) => {
    const isReady = await fetch(`${replica.healthUrl}/readyz`).then(
      ({ status }) => status === 200,
      () => false,
    );
    if (isReady && replicas.has(replica)) ready.add(replica);
    else ready.delete(replica);
  };
  const timer = setInterval(() => void Promise.all([...new Set([...replicas, ...ready])].map(probe)), PROBE_MS);

  let turn = 0;
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const candidates = [...ready];
    pass(client, candidates.length === 0 ? undefined : candidates[turn++ % candidates.length]);
  });
  t.after(() => clearInterval(timer));
  return { port: await openPort(t, server), replicas };
}

function pass(client: Socket, replica: Receiver | undefined): void {
  // Also the one that nobody takes may break.
  client.on('error', () => {});
  if (!replica) return void client.destroy();
  const upstream = connect({ port: replica.port, host: '127.0.0.1', allowHalfOpen: true });
  for (const [from, to] of [
    [client, upstream],
    [upstream, client],
  ] as const) {
    from.pipe(to);
    from.on('error', () => to.destroy());
    from.on('close', (hadError) => hadError && to.destroy());
  }
}
