import type { TestContext } from 'node:test';
import { type WebhookAddress, webhookConfiguration } from '../../scripts/testbed/webhook-configuration.ts';
import { apply, kubectl } from './cluster.ts';

/** Makes the API server call an admission endpoint of this machine until the test is over. */
export async function installWebhook(t: TestContext, address: WebhookAddress): Promise<void> {
  await apply(webhookConfiguration(address));
  t.after(() => kubectl('delete', 'mutatingwebhookconfiguration', address.name));
}
