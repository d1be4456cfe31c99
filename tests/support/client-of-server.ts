import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createNetServer, type Server, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { KubeConfig } from '@kubernetes/client-node';
import { type ClientOptions, KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { ApiCredentials } from '../../shared/io/kubernetes/credentials.ts';

/** Makes a client of a server other than an API server, for responses that a real one rarely sends. */
export async function clientOfServer(
  t: TestContext,
  listener: RequestListener,
  options: Partial<ClientOptions> = {},
): Promise<KubernetesClient> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  t.after(() => server.close().closeAllConnections());
  return await clientAt(t, server, options);
}

/** Makes a client of a server that writes any data to its connections, in response to any data. */
export async function clientOfSocket(
  t: TestContext,
  answer: (socket: Socket, connection: number, request: number) => void,
  options: Partial<ClientOptions> = {},
): Promise<KubernetesClient> {
  return await clientAt(t, socketServer(t, answer), options);
}

/** Makes a client of a server behind a proxy that doesn't respond. */
export async function clientOfSilentProxy(t: TestContext): Promise<KubernetesClient> {
  const proxy = `http://127.0.0.1:${await portOf(socketServer(t, () => {}))}`;
  return clientOfUrl(t, 'https://api.example.com', { proxy });
}

function socketServer(t: TestContext, answer: Parameters<typeof clientOfSocket>[1]): Server {
  let connections = 0;
  const server = createNetServer((socket) => {
    const connection = ++connections;
    let requests = 0;
    t.after(() => socket.destroy());
    socket.on('error', () => {}).on('data', () => answer(socket, connection, ++requests));
  }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  return server;
}

async function portOf(server: Server): Promise<number> {
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

async function clientAt(t: TestContext, server: Server, options: Partial<ClientOptions>): Promise<KubernetesClient> {
  return clientOfUrl(t, `http://127.0.0.1:${await portOf(server)}`, options);
}

function clientOfUrl(t: TestContext, server: string, options: Partial<ClientOptions>): KubernetesClient {
  const config = new KubeConfig();
  config.loadFromClusterAndUser({ name: 'c', server, skipTLSVerify: true }, { name: 'u' });
  const client = new KubernetesClient(new ApiCredentials(config), { userAgent: 'test', ...options });
  t.after(() => client.close());
  return client;
}
