import { FIELD_MANAGERS, REQUEST_ANNOTATIONS } from '../../../shared/api/names.ts';
import type { KubernetesClient } from '../../../shared/io/kubernetes/client.ts';
import { gatewaySyncPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { createGatewaySync } from '../../integration/receiver/start-receiver.ts';
import type { Scope } from '../../support/clean-up.ts';
import { connectCluster } from '../../support/cluster.ts';
import { until } from '../../support/until.ts';
import { clientFor } from './client-for.ts';
import { installRights } from './install-rights.ts';

/** A namespace with the GatewaySync `demo`, in which the receiver has the permissions and the limits of the chart. */
export interface ReceiverRights {
  namespace: string;
  serviceAccount: string;
  kubeconfig: string;
  client: KubernetesClient;
}

/** Installs the account, the roles and the policies of the chart, and waits until the policies are in force. */
export async function installReceiverRights(t: Scope): Promise<ReceiverRights> {
  const cluster = await connectCluster();
  const namespace = await installRights(t);
  await createGatewaySync(cluster, namespace, 'demo');
  const serviceAccount = `${namespace}-receiver`;
  const client = await clientFor({ namespace, serviceAccount });
  const kubeconfig = await cluster.kubeconfigFor({ namespace, serviceAccount });
  await untilPoliciesHold(client, gatewaySyncPath(namespace, 'demo'));
  return { namespace, serviceAccount, kubeconfig, client };
}

/** A policy takes effect a moment after it is stored. */
async function untilPoliciesHold(client: KubernetesClient, path: string): Promise<void> {
  const annotate = (annotations: Record<string, string>) =>
    client.mergePatch(
      path,
      { metadata: { annotations } },
      { query: { fieldManager: FIELD_MANAGERS.receiver, dryRun: 'All' } },
    );
  const answer = () => annotate({ 'example.test/x': 'y' }).then(() => 'accepted', String);
  const accept = (text: string) => /only its own annotations/.test(text);
  await until(answer, { describe: 'the policy of the receiver', accept });
  await annotate({ [REQUEST_ANNOTATIONS.requestedRef]: 'v0' });
}
