import { gatewaySyncSpecSchema } from '../../shared/api/gateway-sync.ts';
import { gatewaySyncStatusSchema } from '../../shared/api/gateway-sync-status.ts';
import { API_VERSION, GATEWAY_SYNC, SYNC_REPORT } from '../../shared/api/group.ts';
import { syncReportStatusSchema } from '../../shared/api/sync-report.ts';
import { type SchemaNode, toStructuralSchema } from './json-schema.ts';

function typeOf(node: SchemaNode): string {
  if (node['x-kubernetes-int-or-string']) return 'quantity';
  if (node.items) return `${typeOf(node.items)}[]`;
  if (node.additionalProperties) return `map of ${typeOf(node.additionalProperties)}`;
  if (node.format === 'date-time') return 'time';
  return node.type ?? 'any';
}

function* rowsOf(parent: SchemaNode, prefix = ''): Generator<string> {
  for (const [key, node] of Object.entries(parent.properties ?? {})) {
    const path = `${prefix}${key}`;
    const fallback = node.default === undefined || typeof node.default === 'object' ? '' : `\`${node.default}\``;
    const need = parent.required?.includes(key) ? 'required' : fallback;
    const cells = [`\`${path}\``, typeOf(node), need, node.description ?? '', boundsOf(node)];
    yield `| ${cells.map(escapeCell).join(' | ')} |`;
    yield* rowsOf(node, `${path}.`);
    if (node.items) yield* rowsOf(node.items, `${path}[].`);
    if (node.additionalProperties) yield* rowsOf(node.additionalProperties, `${path}.<name>.`);
  }
}

function boundsOf(node: SchemaNode): string {
  const { minimum, maximum = Number.POSITIVE_INFINITY } = node;
  const bounds = [
    node.enum && `one of ${node.enum.map((value) => `\`${value}\``).join(', ')}`,
    minimum !== undefined && maximum < 2 ** 31 - 1 && `${minimum} to ${maximum}`,
    node.maxLength !== undefined && `at most ${node.maxLength} characters`,
    node.maxItems !== undefined && `at most ${node.maxItems}`,
    node.maxProperties !== undefined && `at most ${node.maxProperties}`,
    ...(node['x-kubernetes-validations'] ?? []).map(({ message }) => message),
  ];
  return bounds.filter(Boolean).join('; ');
}

const escapeCell = (text: string) => text.replaceAll('|', '\\|').replaceAll('<', '&lt;');

const tableOf = (schema: SchemaNode): string =>
  ['| field | type | default | meaning | limits |', '|---|---|---|---|---|', ...rowsOf(schema)].join('\n');

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
