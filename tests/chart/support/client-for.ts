import { clientOf } from '../../../scripts/testbed/client-of.ts';
import type { ClusterAccess } from '../../../scripts/testbed/cluster-access.ts';
import type { KubernetesClient } from '../../../shared/io/kubernetes/client.ts';
import { connectCluster } from '../../support/cluster.ts';

/** Returns a client that acts as a service account, with its permissions in the cluster. */
export async function clientFor(account: Parameters<ClusterAccess['kubeconfigFor']>[0]): Promise<KubernetesClient> {
  return clientWith(await (await connectCluster()).kubeconfigFor(account));
}

/** Returns a client with all permissions. */
export async function connectAdministrator(): Promise<KubernetesClient> {
  return clientWith((await connectCluster()).kubeconfig);
}

/** Returns a client with the server and the user of a kubeconfig. */
export function clientWith(kubeconfig: string): KubernetesClient {
  return clientOf(kubeconfig, { userAgent: 'chart-test' });
}
