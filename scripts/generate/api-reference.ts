import type { GenericSchema } from 'valibot';
import { gatewaySyncSpecSchema } from '../../shared/api/gateway-sync.ts';
import { gatewaySyncStatusSchema } from '../../shared/api/gateway-sync-status.ts';
import { API_VERSION, GATEWAY_SYNC, SYNC_RELEASE, SYNC_REPORT } from '../../shared/api/group.ts';
import { approvalsSchema, syncReleaseSpecSchema, syncReleaseStatusSchema } from '../../shared/api/sync-release.ts';
import { syncReportStatusSchema } from '../../shared/api/sync-report.ts';
import { type SchemaNode, toStructuralSchema } from './json-schema.ts';

function typeOf(node: SchemaNode): string {
  if (node['x-kubernetes-int-or-string']) return 'quantity';
  if (node.items) return `${typeOf(node.items)}[]`;
  if (node.additionalProperties) return `map of ${typeOf(node.additionalProperties)}`;
  if (node.format === 'date-time') return 'time';
  return node.type ?? 'any';
}

/** Returns the rows of the fields of an object, in the order of the schema, with all fields below them. */
const rowsOf = (parent: SchemaNode = {}, prefix = ''): string[] =>
  Object.keys(parent.properties ?? {}).flatMap((key) => rowsOfField(parent, key, prefix));

function rowsOfField(parent: SchemaNode, key: string, prefix = ''): string[] {
  const node = parent.properties?.[key] ?? {};
  const path = `${prefix}${key}`;
  const fallback = node.default === undefined || typeof node.default === 'object' ? '' : `\`${node.default}\``;
  const need = parent.required?.includes(key) ? 'required' : fallback;
  const limits = escapeCell(boundsOf(node));
  const cells = [`\`${path}\``, typeOf(node), need, node.description ?? ''].map(escapeCell);
  return [
    `| ${cells.join(' | ')}${limits && `<br><small>${limits}</small>`} |`,
    ...rowsOf(node, `${path}.`),
    ...rowsOf(node.items, `${path}[].`),
    ...rowsOf(node.additionalProperties, `${path}.<name>.`),
  ];
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

const tableOf = (rows: string[]): string =>
  ['| field | type | default | meaning |', '|---|---|---|---|', ...rows].join('\n');

/** Returns a table of the fields that have none below them, and a section for each of the others. */
function sectionsOf(name: string, schema: GenericSchema): string[] {
  const root = toStructuralSchema(schema);
  const fields = Object.keys(root.properties ?? {}).map((key) => ({ key, rows: rowsOfField(root, key) }));
  const single = fields.filter(({ rows }) => rows.length === 1);
  const parents = fields.filter((field) => !single.includes(field));
  return [
    tableOf(single.flatMap(({ rows }) => rows)),
    ...parents.flatMap(({ key, rows }) => [`### ${name}.${key}`, tableOf(rows)]),
  ];
}

/** Generates the reference of all kinds as Markdown. */
export function generateApiReference(): Record<string, string> {
  const sections = [
    '<!-- Generated from shared/api: run npm run generate. -->',
    '# API reference',
    `\`apiVersion: ${API_VERSION}\`. The API server checks every limit in these tables and returns the error messages shown.`,
    `## ${GATEWAY_SYNC.kind}: spec`,
    ...sectionsOf('spec', gatewaySyncSpecSchema),
    `## ${GATEWAY_SYNC.kind}: status`,
    'The controller is the only writer.',
    ...sectionsOf('status', gatewaySyncStatusSchema),
    `## ${SYNC_RELEASE.kind}: spec`,
    'The controller is the only writer. The spec never changes.',
    ...sectionsOf('spec', syncReleaseSpecSchema),
    `## ${SYNC_RELEASE.kind}: approvals`,
    'Users [add approvals](../how-to/approve-a-rollout.md#what-an-approval-is). The API server rejects every change or removal of an approval.',
    tableOf(rowsOf({ properties: { approvals: toStructuralSchema(approvalsSchema) } })),
    `## ${SYNC_RELEASE.kind}: status`,
    'A result: status.rollout of the GatewaySync decides.',
    ...sectionsOf('status', syncReleaseStatusSchema),
    `## ${SYNC_REPORT.kind}: status`,
    'The agent of the pod with the same name is the only writer.',
    ...sectionsOf('status', syncReportStatusSchema),
  ];
  return { 'docs/reference/api-reference.md': `${sections.join('\n\n')}\n` };
}
