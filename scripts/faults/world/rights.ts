import path from 'node:path';
import { parseAllDocuments } from 'yaml';
import { type ApiObject, applyObject } from '../../testbed/apply-object.ts';
import type { ServerDetails } from '../../testbed/call-api.ts';
import { findBinaries } from '../../testbed/find-binaries.ts';
import { runCommand } from '../../testbed/run-command.ts';

const chart = path.join(import.meta.dirname, '../../../chart');
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
  const { helm } = await findBinaries('helm');
  const values = {
    fullnameOverride: OPERATOR,
    certManager: { enabled: false },
    webhook: { failurePolicy: 'Fail' },
    webhookReceiver: { enabled: true },
  };
  const flags = Object.entries(values).map(([key, value]) => `--set-json=${key}=${JSON.stringify(value)}`);
  const text = await runCommand(helm, ['template', 'faults', chart, '--namespace', OPERATOR, ...flags]);
  const objects = parseAllDocuments(text).map((document) => document.toJS() as Manifest | null);
  for (const object of objects) {
    if (!object || !wanted.test(object.kind)) continue;
    const url = `https://127.0.0.1:${webhookPort}/mutate-v1-pod`;
    for (const webhook of object.webhooks ?? []) webhook.clientConfig = { url };
    await applyObject(server, object);
  }
}
