import type { TestContext } from 'node:test';
import { type WebhookAddress, webhookConfiguration } from '../../scripts/testbed/webhook-configuration.ts';
import { groupPath } from '../../shared/io/kubernetes/resource-path.ts';
import { apply, callApi } from './cluster.ts';

/** Makes the API server call an admission endpoint of this machine until the test is over. */
export async function installWebhook(t: TestContext, address: WebhookAddress): Promise<void> {
  await apply(webhookConfiguration(address));
  const path = groupPath('admissionregistration.k8s.io/v1', 'mutatingwebhookconfigurations', undefined, address.name);
  t.after(() => callApi({ method: 'DELETE', path }));
}
