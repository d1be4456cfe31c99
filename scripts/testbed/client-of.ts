import { KubeConfig } from '@kubernetes/client-node';
import { type ClientOptions, KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { ApiCredentials } from '../../shared/io/kubernetes/credentials.ts';

/** A client that acts as a kubeconfig file says. */
export function clientOf(kubeconfig: string, options: ClientOptions): KubernetesClient {
  const config = new KubeConfig();
  config.loadFromFile(kubeconfig);
  return new KubernetesClient(new ApiCredentials(config), options);
}
