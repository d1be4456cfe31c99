import { type WebhookAddress, webhookConfiguration } from '../../scripts/testbed/webhook-configuration.ts';
import { corePath, groupPath } from '../../shared/io/kubernetes/resource-path.ts';
import { cleanUp, type Scope } from './clean-up.ts';
import { apply, callApi } from './cluster.ts';
import { gatewayPod } from './gateway-pods.ts';
import { until } from './until.ts';

/** Makes the API server call an admission endpoint of this machine until the test is over. */
export async function installWebhook(t: Scope, address: WebhookAddress): Promise<void> {
  await apply(webhookConfiguration(address));
  const path = groupPath('admissionregistration.k8s.io/v1', 'mutatingwebhookconfigurations', undefined, address.name);
  cleanUp(t, () => callApi({ method: 'DELETE', path }));
}

/** Waits until the API server calls the endpoint of a namespace and trusts it, shortly after both are stored. */
export async function untilWebhookWorks(namespace: string): Promise<void> {
  const pods = corePath('pods', namespace);
  const body = gatewayPod(namespace, 'probe');
  const create = () => callApi<object>({ method: 'POST', path: pods, query: { dryRun: 'All' }, body });
  await until(() => create().then(JSON.stringify, String), {
    describe: 'the sidecar, or a denial by the controller',
    accept: (answer) => /"sync-agent"|sync agent: /.test(answer),
  });
}
