import { toJsonSchema } from '@valibot/to-json-schema';
import type { GenericSchema } from 'valibot';
import { withoutUndefined } from '../../shared/domain/text/objects.ts';

/** The part of an OpenAPI v3 schema that a CRD supports. */
export interface SchemaNode {
  type?: string;
  description?: string;
  default?: unknown;
  enum?: string[];
  properties?: Record<string, SchemaNode>;
  required?: string[];
  items?: SchemaNode;
  additionalProperties?: SchemaNode;
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  maxItems?: number;
  maxProperties?: number;
  format?: string;
  'x-kubernetes-validations'?: { rule: string; message: string }[];
  [extension: `x-kubernetes-${string}`]: unknown;
}

/** Turns a Valibot schema into a structural schema for a CRD, with the input types and defaults. */
export function toStructuralSchema(schema: GenericSchema): SchemaNode {
  return tidy(toJsonSchema(schema, { target: 'openapi-3.0', typeMode: 'input' }) as SchemaNode);
}

/** Removes empty `required` lists, which some tools refuse, and `$schema`, which the API server refuses. */
function tidy(node: SchemaNode): SchemaNode {
  const { required, properties, items, additionalProperties, ...rest } = node;
  return withoutUndefined({
    ...rest,
    $schema: undefined,
    required: required?.length ? required : undefined,
    items: items && tidy(items),
    additionalProperties: additionalProperties && tidy(additionalProperties),
    properties: properties && Object.fromEntries(Object.entries(properties).map(([key, child]) => [key, tidy(child)])),
  });
}
