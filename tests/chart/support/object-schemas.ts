import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { kubectl } from '../../support/cluster.ts';

interface Definition {
  type?: string | string[];
  format?: string;
  properties?: Record<string, Definition>;
  additionalProperties?: Definition | boolean;
  items?: Definition;
  required?: string[];
  $ref?: string;
  'x-kubernetes-group-version-kind'?: { group: string; version: string; kind: string }[];
  [key: string]: unknown;
}

const shared = '_definitions.json';

/** Writes a JSON Schema for each kind that the API server knows, strict about unknown fields, under the names that kubeconform looks for. */
export async function writeObjectSchemas(directory: string): Promise<void> {
  const openapi: { definitions: Record<string, Definition> } = JSON.parse(await kubectl('get', '--raw', '/openapi/v2'));
  const definitions = Object.fromEntries(
    Object.entries(openapi.definitions).map(([name, definition]) => [name, tighten(definition)]),
  );
  await mkdir(directory, { recursive: true });
  await writeFile(path.join(directory, shared), JSON.stringify({ definitions }));
  for (const [name, definition] of Object.entries(openapi.definitions)) {
    for (const { group, version, kind } of definition['x-kubernetes-group-version-kind'] ?? []) {
      const file = [kind, group.split('.')[0], version].filter(Boolean).join('-').toLowerCase();
      await writeFile(path.join(directory, `${file}.json`), JSON.stringify({ $ref: `${shared}#/definitions/${name}` }));
    }
  }
}

function tighten({ $ref, type, format, ...rest }: Definition): Definition {
  if ($ref) return { $ref: $ref.replace(/^#/, `${shared}#`) };
  if (!type) return {};
  // An amount is a string in the schema, and may be a number all the same.
  if (type === 'string') return { type: format === 'int-or-string' ? ['string', 'integer'] : 'string' };
  const { properties, items, additionalProperties, required } = rest;
  return {
    type,
    ...(properties && {
      properties: Object.fromEntries(Object.entries(properties).map(([key, each]) => [key, tighten(each)])),
      additionalProperties: rest['x-kubernetes-preserve-unknown-fields'] === true,
    }),
    ...(typeof additionalProperties === 'object' && { additionalProperties: tighten(additionalProperties) }),
    ...(items && { items: tighten(items) }),
    ...(required && { required }),
  };
}
