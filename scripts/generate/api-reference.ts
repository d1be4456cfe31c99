import { gatewaySyncSpecSchema } from '../../shared/api/gateway-sync.ts';
import { gatewaySyncStatusSchema } from '../../shared/api/gateway-sync-status.ts';
import { API_VERSION, GATEWAY_SYNC, SYNC_REPORT } from '../../shared/api/group.ts';
import { syncReportStatusSchema } from '../../shared/api/sync-report.ts';
import { type SchemaNode, toStructuralSchema } from './json-schema.ts';

interface Row {
  path: string;
  type: string;
  required: boolean;
  node: SchemaNode;
}

function typeOf(node: SchemaNode): string {
  if (node['x-kubernetes-int-or-string']) return 'quantity';
  if (node.items) return `${typeOf(node.items)}[]`;
  if (node.additionalProperties) return `map of ${typeOf(node.additionalProperties)}`;
  if (node.format === 'date-time') return 'time';
  return node.type ?? 'any';
}

function* rowsOf(node: SchemaNode, path: string): Generator<Row> {
  for (const [key, child] of Object.entries(node.properties ?? {})) {
    const childPath = path ? `${path}.${key}` : key;
    yield { path: childPath, type: typeOf(child), required: node.required?.includes(key) ?? false, node: child };
    yield* rowsOf(child, childPath);
    if (child.items) yield* rowsOf(child.items, `${childPath}[]`);
    if (child.additionalProperties) yield* rowsOf(child.additionalProperties, `${childPath}.<name>`);
  }
}

function boundsOf(node: SchemaNode): string {
  const bounds = [
    node.enum && `one of ${node.enum.map((value) => `\`${value}\``).join(', ')}`,
    node.minimum !== undefined &&
      node.maximum !== undefined &&
      node.maximum < 2 ** 31 - 1 &&
      `${node.minimum} to ${node.maximum}`,
    node.maxLength !== undefined && `at most ${node.maxLength} characters`,
    node.maxItems !== undefined && `at most ${node.maxItems}`,
    node.maxProperties !== undefined && `at most ${node.maxProperties}`,
    ...(node['x-kubernetes-validations'] ?? []).map(({ message }) => message),
  ];
  return bounds.filter(Boolean).join('; ');
}

const escapeCell = (text: string) => text.replaceAll('|', '\\|').replaceAll('<', '&lt;');

function tableOf(schema: SchemaNode): string {
  const rows = [...rowsOf(schema, '')].map(({ path, type, required, node }) => {
    const fallback = node.default === undefined || typeof node.default === 'object' ? '' : `\`${node.default}\``;
    const cells = [`\`${path}\``, type, required ? 'required' : fallback, node.description ?? '', boundsOf(node)];
    return `| ${cells.map(escapeCell).join(' | ')} |`;
  });
  return ['| field | type | default | meaning | limits |', '|---|---|---|---|---|', ...rows].join('\n');
}

/** Generates the reference of both kinds as Markdown. */
export function generateApiReference(): Record<string, string> {
  const sections = [
    '<!-- Generated from shared/api: run npm run generate. -->',
    '# API reference',
    `\`apiVersion: ${API_VERSION}\`. The API server checks every limit in these tables and returns the error messages shown.`,
    `## ${GATEWAY_SYNC.kind}: spec`,
    tableOf(toStructuralSchema(gatewaySyncSpecSchema)),
    `## ${GATEWAY_SYNC.kind}: status`,
    'The controller is the only writer.',
    tableOf(toStructuralSchema(gatewaySyncStatusSchema)),
    `## ${SYNC_REPORT.kind}: status`,
    'The agent of the pod with the same name is the only writer.',
    tableOf(toStructuralSchema(syncReportStatusSchema)),
  ];
  return { 'docs/reference/api-reference.md': `${sections.join('\n\n')}\n` };
}
