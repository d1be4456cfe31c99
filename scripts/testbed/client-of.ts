import { KubeConfig } from '@kubernetes/client-node';
import { type ClientOptions, KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { ApiCredentials } from '../../shared/io/kubernetes/credentials.ts';

/** Returns a client for a kubeconfig file; `server` replaces its server if given. */
export function clientOf(kubeconfig: string, options: ClientOptions, server?: string): KubernetesClient {
  const config = new KubeConfig();
  config.loadFromFile(kubeconfig);
  if (server) {
    // Without TLS, the library requires that verification is turned off.
    const skipTLSVerify = server.startsWith('http:');
    config.clusters = config.clusters.map((cluster) => ({ ...cluster, server, skipTLSVerify }));
  }
  return new KubernetesClient(new ApiCredentials(config), options);
}
