import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createNetServer, type Server, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { KubeConfig } from '@kubernetes/client-node';
import { type ClientOptions, KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { ApiCredentials } from '../../shared/io/kubernetes/credentials.ts';

/** A client of a server that is no API server, for answers that a real one seldom gives. */
export async function clientOfServer(
  t: TestContext,
  listener: RequestListener,
  options: Partial<ClientOptions> = {},
): Promise<KubernetesClient> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  t.after(() => server.close().closeAllConnections());
  return await clientAt(t, server, options);
}

/** A client of a server that says on each connection, to each piece that comes, what it likes. */
export async function clientOfSocket(
  t: TestContext,
  answer: (socket: Socket, connection: number, request: number) => void,
  options: Partial<ClientOptions> = {},
): Promise<KubernetesClient> {
  let connections = 0;
  const server = createNetServer((socket) => {
    const connection = ++connections;
    let requests = 0;
    t.after(() => socket.destroy());
    socket.on('error', () => {}).on('data', () => answer(socket, connection, ++requests));
  }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  return await clientAt(t, server, options);
}

async function clientAt(t: TestContext, server: Server, options: Partial<ClientOptions>): Promise<KubernetesClient> {
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const config = new KubeConfig();
  config.loadFromClusterAndUser({ name: 'c', server: `http://127.0.0.1:${port}`, skipTLSVerify: true }, { name: 'u' });
  const client = new KubernetesClient(new ApiCredentials(config), { userAgent: 'test', ...options });
  t.after(() => client.close());
  return client;
}
