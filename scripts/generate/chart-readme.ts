import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { isMap, isScalar, type Node, type Pair, parse, parseDocument, type YAMLMap } from 'yaml';
import { docsAt } from '../../shared/docs-site.ts';
import { REPOSITORY } from '../site/addresses.ts';

const checkout = path.join(import.meta.dirname, '../..');
const chart = path.join(checkout, 'chart');
const REFERENCE = 'oci://ghcr.io/stoker-operator/charts/stoker-operator';

/** Returns the text of `# -- text` above a value. A value without it is a group. */
function describedIn(comment: string | null | undefined): string | undefined {
  const lines = (comment ?? '').split('\n').map((line) => line.trim());
  const start = lines.findLastIndex((line) => line.startsWith('-- '));
  return start === -1 ? undefined : lines.slice(start).join(' ').slice(3);
}

/** Returns the title of the section that begins with a value: the first line of the comment above it. */
const titleIn = (comment: string | null | undefined): string | undefined => /^ ([^-].*)/.exec(comment ?? '')?.[1];

/** Returns the table for the values in a map, with a heading above each section. */
function* rowsOf(map: YAMLMap, prefix: string, firstComment?: string | null): Generator<string> {
  for (const [index, pair] of (map.items as Pair<unknown, Node>[]).entries()) {
    if (!isScalar(pair.key)) continue;
    const key = `${prefix}${pair.key.value}`;
    const comment = pair.key.commentBefore ?? (index === 0 ? firstComment : undefined);
    const title = titleIn(comment);
    if (title) yield `\n### ${title}\n\n| value | default | meaning |\n|---|---|---|`;
    const meaning = describedIn(comment);
    if (meaning !== undefined)
      yield `| \`${key}\` | \`${escapeCell(JSON.stringify(pair.value))}\` | ${escapeCell(meaning)} |`;
    else if (isMap(pair.value)) yield* rowsOf(pair.value, `${key}.`, pair.value.commentBefore);
  }
}

const escapeCell = (text: string) => text.replaceAll('|', '\\|');

/** Generates the reference of all values from the comments in values.yaml. */
export async function generateChartReadme(): Promise<Record<string, string>> {
  const document = parseDocument(await readFile(path.join(chart, 'values.yaml'), 'utf8'));
  if (!isMap(document.contents)) throw new Error('values.yaml must be a map');
  const rows = rowsOf(document.contents, '', document.commentBefore);
  const { appVersion } = parse(await readFile(path.join(chart, 'Chart.yaml'), 'utf8'));
  // Registries show this README, and relative links don't work there.
  const docs = (page: string) => docsAt(appVersion, page);
  const text = [
    '<!-- Generated from values.yaml: run npm run generate. -->',
    '# stoker-operator Helm chart',
    `[stoker-operator](${REPOSITORY}) delivers configuration files from git to the pods that read them. A sidecar fetches a commit after a signed webhook or a poll, in waves if you configure them.`,
    `\`\`\`console\n$ helm install stoker-operator ${REFERENCE} \\\n    --namespace stoker-system --create-namespace --set certManager.enabled=false\n\`\`\``,
    `It needs Kubernetes 1.30 or newer. With [cert-manager](https://cert-manager.io), omit \`certManager.enabled=false\`; without it, the controller creates the certificate of its admission webhook. [Installation](${docs('how-to/installation.md')}) explains the choices, and [Argo CD and Flux](${docs('how-to/gitops.md')}) shows how to install it from git. Then see [hardening](${docs('how-to/hardening.md')}), [monitoring](${docs('how-to/monitoring.md')}), and [upgrading](${docs('how-to/upgrading.md')}).`,
    '## Values',
    'The chart rejects values that are not in these tables (`values.schema.json`).',
    [...rows].join('\n').trim(),
    '## Upgrade and uninstall',
    `Upgrading the release upgrades its CRDs. Uninstalling it keeps them together with every GatewaySync, unless \`crds.keep\` is false. See [upgrading](${docs('how-to/upgrading.md')}#crds) for CRDs that already exist, and for installing them separately.`,
  ];
  return { 'chart/README.md': `${text.join('\n\n')}\n` };
}
