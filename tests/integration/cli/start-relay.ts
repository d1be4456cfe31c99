import { readFile, writeFile } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { connectCluster } from '../../support/cluster.ts';
import { openPort } from '../../support/open-port.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';

/** A relay to the API server that can be interrupted; it then rejects and counts connections. */
export async function startRelay(t: TestContext) {
  const { url, kubeconfig } = await connectCluster();
  const { hostname, port } = new URL(url);
  const open = new Set<Socket>();
  let isCut = false;
  let refused = 0;
  const server = createServer((client) => {
    client.on('error', () => {});
    if (isCut) {
      refused += 1;
      client.resetAndDestroy();
      return;
    }
    const upstream = connect(Number(port), hostname);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(socket);
      socket
        .on('error', () => {})
        .on('close', () => {
          open.delete(socket);
          other.destroy();
        });
      socket.pipe(other);
    }
  });
  const file = path.join(await temporaryDirectory(t, 'relay-'), 'kubeconfig');
  const own = await openPort(t, server);
  await writeFile(file, (await readFile(kubeconfig, 'utf8')).replaceAll(url, `https://127.0.0.1:${own}`));
  return {
    kubeconfig: file,
    cut: () => {
      isCut = true;
      for (const socket of open) socket.destroy();
    },
    untilRefused: () =>
      until(async () => refused, { describe: 'two that were sent away', accept: (count) => count >= 2 }),
    restore: () => {
      isCut = false;
    },
  };
}
