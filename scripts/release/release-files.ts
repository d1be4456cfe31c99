import { hash } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import manifest from '../../package.json' with { type: 'json' };
import { docsAt } from '../../shared/docs-site.ts';
import { archiveName, krewManifest } from '../krew-manifest.ts';
import { writeJsonSchemas } from '../site/json-schemas.ts';
import { SITE_ARCHIVE } from '../site/versions.ts';
import { chart, helm, setFlags } from '../testbed/helm.ts';
import { runCommand } from '../testbed/run-command.ts';

const root = path.join(import.meta.dirname, '../..');

/** Platforms of Node for which a release has an executable of `kubectl stoker`. */
const PLATFORMS = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64'];

/** Name of the file with the SHA-256 of all others, which the workflow signs. */
const CHECKSUMS = 'checksums.txt';

/** Files that other jobs of the workflow make, because they need other machines or are pushed to a registry first. */
export const GIVEN_FILES = [
  ...PLATFORMS.map(archiveName),
  `kubectl-stoker-${manifest.version}.tgz`,
  `stoker-operator-${manifest.version}.tgz`,
  'digests.txt',
  SITE_ARCHIVE,
];

/** Lists the files that a directory lacks for a release. */
export async function missingFiles(directory: string): Promise<string[]> {
  const present = await readdir(directory);
  return GIVEN_FILES.filter((file) => !present.includes(file));
}

/** Adds the other files of a release to a directory, and the checksums of all files. */
export async function completeRelease(directory: string): Promise<void> {
  const write = (name: string, content: string) => writeFile(path.join(directory, name), content);
  await writeJsonSchemas(directory);
  await write('install.yaml', await renderInstallManifest());
  await write('crds.yaml', await readCrds());
  await write('stoker.yaml', await krewManifest(directory));
  await write('sbom.cdx.json', await runCommand('npm', ['run', '--silent', 'sbom'], { cwd: root }));
  await write(CHECKSUMS, await checksumsOf(directory));
}

/** Reads the CRDs as one manifest. */
export async function readCrds(): Promise<string> {
  const crds = path.join(chart, 'crds');
  const files = (await readdir(crds)).sort();
  const texts = await Promise.all(files.map((file) => readFile(path.join(crds, file), 'utf8')));
  return texts.map((text) => `---\n${text}`).join('');
}

/** Returns the SHA-256 of the files in a directory, as `sha256sum` prints them. */
async function checksumsOf(directory: string): Promise<string> {
  const files = (await readdir(directory)).filter((name) => name !== CHECKSUMS).sort();
  const lines = files.map(async (name) => {
    return `${hash('sha256', await readFile(path.join(directory, name)))}  ${name}\n`;
  });
  return (await Promise.all(lines)).join('');
}

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
  const rendered = await helm('template', 'stoker-operator', chart, `--namespace=${NAMESPACE}`, ...setFlags(VALUES));
  const objects = rendered.replaceAll(/^ *app\.kubernetes\.io\/managed-by: Helm\n/gm, '');
  return `${header}---\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: ${NAMESPACE}\n${objects}`;
}

const header = `# stoker-operator ${manifest.version}, rendered from its Helm chart.
# The pods of the receiver start when the Secret git-webhook exists: ${docsAt(manifest.version, 'how-to/installation.md#without-helm')}
`;
