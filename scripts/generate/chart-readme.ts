import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { isMap, isScalar, type Pair, parseDocument, type YAMLMap } from 'yaml';

const chart = path.join(import.meta.dirname, '../../chart');

interface Row {
  key: string;
  fallback: string;
  meaning: string;
}

/** What `# -- text` above a value says; a value without it is a group. */
function describedIn(comment: string | null | undefined): string | undefined {
  const lines = (comment ?? '').split('\n').map((line) => line.trim());
  const start = lines.findLastIndex((line) => line.startsWith('-- '));
  return start === -1 ? undefined : lines.slice(start).join(' ').slice(3);
}

function* rowsOf(map: YAMLMap, prefix: string, firstComment?: string | null): Generator<Row> {
  for (const [index, pair] of (map.items as Pair[]).entries()) {
    if (!isScalar(pair.key)) continue;
    const key = `${prefix}${pair.key.value}`;
    const meaning = describedIn(pair.key.commentBefore ?? (index === 0 ? firstComment : undefined));
    if (meaning !== undefined) yield { key, fallback: JSON.stringify(toPlain(pair.value)), meaning };
    else if (isMap(pair.value)) yield* rowsOf(pair.value, `${key}.`, pair.value.commentBefore);
  }
}

function toPlain(node: unknown): unknown {
  return node && typeof node === 'object' && 'toJSON' in node ? (node as { toJSON(): unknown }).toJSON() : node;
}

const escapeCell = (text: string) => text.replaceAll('|', '\\|');

/** The reference of all values, from the comments in values.yaml. */
export async function generateChartReadme(): Promise<Record<string, string>> {
  const document = parseDocument(await readFile(path.join(chart, 'values.yaml'), 'utf8'));
  if (!isMap(document.contents)) throw new Error('values.yaml is no map');
  const rows = [...rowsOf(document.contents, '', document.commentBefore)];
  const lines = rows.map(
    ({ key, fallback, meaning }) => `| \`${key}\` | \`${escapeCell(fallback)}\` | ${escapeCell(meaning)} |`,
  );
  const text = [
    '<!-- Made by `npm run generate` from values.yaml: change it there. -->',
    '# stoker-operator',
    'Keeps gateway pods in sync with git. `helm install stoker-operator oci://ghcr.io/stoker-operator/charts/stoker-operator --namespace stoker-system --create-namespace`. [Installation](../docs/how-to/installation.md) says what to choose.',
    'Values that are not in this table are refused (`values.schema.json`).',
    ['| value | default | meaning |', '|---|---|---|', ...lines].join('\n'),
    '## Custom resource definitions',
    'An upgrade of the release upgrades its CRDs, and an uninstall keeps them together with every GatewaySync, unless `crds.keep` is false. See [upgrading](../docs/how-to/upgrading.md#crds) for CRDs that are there already, and for installing them apart from the release.',
  ];
  return { 'chart/README.md': `${text.join('\n\n')}\n` };
}
