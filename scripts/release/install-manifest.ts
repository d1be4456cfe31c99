import path from 'node:path';
import manifest from '../../package.json' with { type: 'json' };
import { docsAt } from '../../shared/docs-site.ts';
import { findBinaries } from '../testbed/find-binaries.ts';
import { runCommand } from '../testbed/run-command.ts';

const chart = path.join(import.meta.dirname, '../../chart');

/** Namespace of the manifest. A policy in the manifest contains it, so it can't be changed later. */
const NAMESPACE = 'stoker-system';

/**
 * Values for a cluster without cert-manager. The user creates the Secret, because a published one wouldn't be secret. AKS
 * adds the expressions to every webhook; without them in the manifest, it couldn't be applied again.
 */
const VALUES = {
  'crds.keep': false, // an instruction for Helm
  'certManager.enabled': false,
  'webhook.namespaceSelector.matchExpressions': [
    { key: 'control-plane', operator: 'NotIn', values: ['true'] },
    { key: 'kubernetes.azure.com/managedby', operator: 'NotIn', values: ['aks'] },
  ],
  'webhookReceiver.enabled': true,
  'webhookReceiver.hmac.secretRef.name': 'git-webhook',
};

/** Renders `install.yaml`: the chart with its namespace, for `kubectl apply`. */
export async function renderInstallManifest(): Promise<string> {
  const { helm } = await findBinaries('helm');
  const values = Object.entries(VALUES).map(([name, value]) => `--set-json=${name}=${JSON.stringify(value)}`);
  const rendered = await runCommand(helm, [
    'template',
    'stoker-operator',
    chart,
    `--namespace=${NAMESPACE}`,
    ...values,
  ]);
  const objects = rendered.replaceAll(/^ *app\.kubernetes\.io\/managed-by: Helm\n/gm, '');
  return `${header}---\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: ${NAMESPACE}\n${objects}`;
}

const header = `# stoker-operator ${manifest.version}, rendered from its Helm chart.
# The pods of the receiver start when the Secret git-webhook exists: ${docsAt(manifest.version, 'how-to/installation.md#without-helm')}
`;
