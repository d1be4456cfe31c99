import { KubeConfig } from '@kubernetes/client-node';
import { type ClientOptions, KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { ApiCredentials } from '../../shared/io/kubernetes/credentials.ts';

/** A client that acts as a kubeconfig file says; `server` is called in place of the one that stands there. */
export function clientOf(kubeconfig: string, options: ClientOptions, server?: string): KubernetesClient {
  const config = new KubeConfig();
  config.loadFromFile(kubeconfig);
  if (server) {
    // Without TLS the library wants to hear that nobody checks any.
    const skipTLSVerify = server.startsWith('http:');
    config.clusters = config.clusters.map((cluster) => ({ ...cluster, server, skipTLSVerify }));
  }
  return new KubernetesClient(new ApiCredentials(config), options);
}
