import { toJsonSchema } from '@valibot/to-json-schema';
import type { GenericSchema } from 'valibot';
import { withoutUndefined } from '../../shared/domain/objects.ts';

/** A node of an OpenAPI v3 schema, as far as a CRD knows it. */
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
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  minProperties?: number;
  maxProperties?: number;
  format?: string;
  'x-kubernetes-validations'?: { rule: string; message: string }[];
  [extension: `x-kubernetes-${string}`]: unknown;
}

/** Turns a Valibot schema into a structural schema for a CRD: what a person may write, defaults included. */
export function toStructuralSchema(schema: GenericSchema): SchemaNode {
  return tidy(toJsonSchema(schema, { target: 'openapi-3.0', typeMode: 'input' }) as SchemaNode);
}

/** Empty `required` lists are refused by some tools, and `$schema` by the API server. */
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
