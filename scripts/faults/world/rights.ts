import { parseAllDocuments } from 'yaml';
import { type ApiObject, applyObject } from '../../testbed/apply-object.ts';
import type { ServerDetails } from '../../testbed/call-api.ts';
import { chart, helm, setFlags } from '../../testbed/helm.ts';

const wanted = /Account$|Role$|Binding$|Policy$|^MutatingWebhookConfiguration$|^Secret$/;

/** Namespace of the release, and prefix of the chart's objects. */
export const OPERATOR = 'stoker';
/** The Lease that the chart's permissions for the controllers name. */
export const LEASE = `${OPERATOR}-controller`;

interface Manifest extends ApiObject {
  webhooks?: { clientConfig: object }[];
}

/** Installs the chart's accounts, roles, policies, and webhook, which is called at a port of this machine. */
export async function installRights(server: ServerDetails, webhookPort: number): Promise<void> {
  const values = {
    fullnameOverride: OPERATOR,
    certManager: { enabled: false },
    webhook: { failurePolicy: 'Fail' },
    webhookReceiver: { enabled: true },
  };
  const text = await helm('template', 'faults', chart, '--namespace', OPERATOR, ...setFlags(values));
  const objects = parseAllDocuments(text).map((document) => document.toJS() as Manifest | null);
  for (const object of objects) {
    if (!object || !wanted.test(object.kind)) continue;
    const url = `https://127.0.0.1:${webhookPort}/mutate-v1-pod`;
    for (const webhook of object.webhooks ?? []) webhook.clientConfig = { url };
    await applyObject(server, object);
  }
}
