import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
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
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const config = new KubeConfig();
  config.loadFromClusterAndUser({ name: 'c', server: `http://127.0.0.1:${port}`, skipTLSVerify: true }, { name: 'u' });
  const client = new KubernetesClient(new ApiCredentials(config), { userAgent: 'test', ...options });
  t.after(() => {
    client.close();
    server.close().closeAllConnections();
  });
  return client;
}
