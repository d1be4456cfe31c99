import { clientOf } from '../../../scripts/testbed/client-of.ts';
import type { ClusterAccess } from '../../../scripts/testbed/cluster-access.ts';
import type { KubernetesClient } from '../../../shared/io/kubernetes/client.ts';
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
  return clientOf(kubeconfig, { userAgent: 'chart-test' });
}
