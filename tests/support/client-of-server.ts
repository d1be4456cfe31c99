import type { RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { KubeConfig } from '@kubernetes/client-node';
import { type ClientOptions, KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { ApiCredentials } from '../../shared/io/kubernetes/credentials.ts';
import { startHttpHost } from './http-host.ts';
import { startTcpServer } from './tcp-server.ts';

/** Makes a client of a server other than an API server, for responses that a real one rarely sends. */
export async function clientOfServer(
  t: TestContext,
  listener: RequestListener,
  options: Partial<ClientOptions> = {},
): Promise<KubernetesClient> {
  return clientOfUrl(t, await startHttpHost(t, listener), options);
}

/** Makes a client of a server that writes any data to its connections, in response to any data. */
export async function clientOfSocket(
  t: TestContext,
  answer: (socket: Socket, connection: number, request: number) => void,
  options: Partial<ClientOptions> = {},
): Promise<KubernetesClient> {
  let connections = 0;
  const port = await startTcpServer(t, (socket) => {
    const connection = ++connections;
    let requests = 0;
    socket.on('data', () => answer(socket, connection, ++requests));
  });
  return clientOfUrl(t, `http://127.0.0.1:${port}`, options);
}

/** Makes a client of a server behind a proxy that doesn't respond. */
export async function clientOfSilentProxy(t: TestContext): Promise<KubernetesClient> {
  const port = await startTcpServer(t, (socket) => socket.resume());
  return clientOfUrl(t, 'https://api.example.com', { proxy: `http://127.0.0.1:${port}` });
}

function clientOfUrl(t: TestContext, server: string, options: Partial<ClientOptions>): KubernetesClient {
  const config = new KubeConfig();
  config.loadFromClusterAndUser({ name: 'c', server, skipTLSVerify: true }, { name: 'u' });
  const client = new KubernetesClient(new ApiCredentials(config), { userAgent: 'test', ...options });
  t.after(() => client.close());
  return client;
}
