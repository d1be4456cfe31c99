import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { parse } from 'yaml';
import type { SchemaNode } from '../generate/json-schema.ts';

const crds = path.join(import.meta.dirname, '../../chart/crds');

interface CustomResourceDefinition {
  spec: {
    group: string;
    names: { kind: string };
    versions: { name: string; schema: { openAPIV3Schema: SchemaNode } }[];
  };
}

/**
 * Writes the JSON Schemas of the CRDs into a directory, for editors and kubeconform. Files are named as in the
 * CRDs catalog (https://github.com/datreeio/CRDs-catalog), for example `gatewaysync_v1alpha1.json`.
 */
export async function writeJsonSchemas(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  for (const file of await readdir(crds)) {
    const { spec }: CustomResourceDefinition = parse(await readFile(path.join(crds, file), 'utf8'));
    const kind = spec.names.kind;
    for (const { name, schema } of spec.versions) {
      const content = jsonSchemaOf(schema.openAPIV3Schema, `${spec.group}/${name}`, kind);
      const target = path.join(directory, `${kind.toLowerCase()}_${name}.json`);
      await writeFile(target, `${JSON.stringify(content, null, 2)}\n`);
    }
  }
}

const STRINGS = { type: 'object', additionalProperties: { type: 'string' } };

/** The fields of the metadata that the API server accepts. Users write the first four. */
const METADATA: Record<string, object> = {
  name: { type: 'string' },
  namespace: { type: 'string' },
  labels: STRINGS,
  annotations: STRINGS,
  generateName: { type: 'string' },
  finalizers: { type: 'array', items: { type: 'string' } },
  ownerReferences: { type: 'array', items: { type: 'object' } },
  managedFields: { type: 'array', items: { type: 'object' } },
  creationTimestamp: { type: ['string', 'null'] },
  deletionTimestamp: { type: ['string', 'null'] },
  deletionGracePeriodSeconds: { type: 'integer' },
  generation: { type: 'integer' },
  resourceVersion: { type: 'string' },
  selfLink: { type: 'string' },
  uid: { type: 'string' },
};

/** Adds the fields of every object, which the API server checks itself. Their schema in a CRD is incomplete. */
function jsonSchemaOf(schema: SchemaNode, apiVersion: string, kind: string) {
  const { required = [], properties, ...strict } = closed(schema);
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    ...strict,
    required: ['apiVersion', 'kind', ...required],
    properties: {
      ...(properties as object),
      apiVersion: { type: 'string', enum: [apiVersion] },
      kind: { type: 'string', enum: [kind] },
      metadata: {
        ...schema.properties?.metadata,
        additionalProperties: false,
        properties: { ...METADATA, ...schema.properties?.metadata?.properties },
      },
    },
  };
}

/** Turns a structural schema into a JSON Schema that rejects unknown fields, without the extensions of Kubernetes. */
function closed(node: SchemaNode): Record<string, unknown> & { required?: string[] } {
  const plain = Object.entries(node).filter(([key]) => !key.startsWith('x-kubernetes-'));
  const { properties, items, additionalProperties, ...rest } = Object.fromEntries(plain) as SchemaNode;
  return {
    ...rest,
    ...(node['x-kubernetes-int-or-string'] === true && { type: ['integer', 'string'] }),
    ...(items && { items: closed(items) }),
    ...(additionalProperties && { additionalProperties: closed(additionalProperties) }),
    ...(properties && {
      additionalProperties: false,
      properties: Object.fromEntries(Object.entries(properties).map(([key, child]) => [key, propertyOf(child)])),
    }),
  };
}

/** Allows null for a field with a default, which the API server sets instead of null. It refuses null for other fields. */
function propertyOf(node: SchemaNode): Record<string, unknown> {
  const schema = closed(node);
  if (node.default === undefined) return schema;
  return { ...schema, type: [node.type, 'null'], ...(node.enum && { enum: [...node.enum, null] }) };
}
