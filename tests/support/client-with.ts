import { KubeConfig } from '@kubernetes/client-node';
import { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { ApiCredentials } from '../../shared/io/kubernetes/credentials.ts';

type Method = Exclude<keyof KubernetesClient, 'close'>;

/** Makes a client of the API server with some methods replaced. The other methods have no server. */
export function clientWith(
  methods: Partial<Record<Method, (...args: never[]) => unknown>>,
  server = 'https://127.0.0.1:1',
): KubernetesClient {
  const config = new KubeConfig();
  config.loadFromClusterAndUser({ name: 'none', server, skipTLSVerify: false }, { name: 'none' });
  return Object.assign(new KubernetesClient(new ApiCredentials(config), { userAgent: 'test' }), methods);
}
