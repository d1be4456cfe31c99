import { KubeConfig } from '@kubernetes/client-node';
import type { ClusterAccess } from '../../../scripts/testbed/cluster-access.ts';
import { KubernetesClient } from '../../../shared/io/kubernetes/client.ts';
import { ApiCredentials } from '../../../shared/io/kubernetes/credentials.ts';
import { connectCluster } from '../../support/cluster.ts';

/** Gives a client that acts as a service account, with the rights that it has in the cluster. */
export async function clientFor(account: Parameters<ClusterAccess['kubeconfigFor']>[0]): Promise<KubernetesClient> {
  const config = new KubeConfig();
  config.loadFromFile(await (await connectCluster()).kubeconfigFor(account));
  return new KubernetesClient(new ApiCredentials(config), { userAgent: 'chart-test' });
}
