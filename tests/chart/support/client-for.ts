import { KubeConfig } from '@kubernetes/client-node';
import type { ClusterAccess } from '../../../scripts/testbed/cluster-access.ts';
import { KubernetesClient } from '../../../shared/io/kubernetes/client.ts';
import { ApiCredentials } from '../../../shared/io/kubernetes/credentials.ts';
import { connectCluster } from '../../support/cluster.ts';

/** Gives a client that acts as a service account, with the rights that it has in the cluster. */
export async function clientFor(account: Parameters<ClusterAccess['kubeconfigFor']>[0]): Promise<KubernetesClient> {
  return clientWith(await (await connectCluster()).kubeconfigFor(account));
}

/** Gives a client that may do everything. */
export async function connectAdministrator(): Promise<KubernetesClient> {
  return clientWith((await connectCluster()).kubeconfig);
}

/** Gives a client that acts as a kubeconfig says. */
export function clientWith(kubeconfig: string): KubernetesClient {
  const config = new KubeConfig();
  config.loadFromFile(kubeconfig);
  return new KubernetesClient(new ApiCredentials(config), { userAgent: 'chart-test' });
}
