import * as v from 'valibot';
import { gatewaySyncSpecSchema } from '../../shared/api/gateway-sync.ts';
import { GATEWAY_SYNC } from '../../shared/api/group.ts';
import { OWN_WORDS } from '../../shared/domain/text/issue-words.ts';
import { Problem } from '../client/problem.ts';

const kindSchema = v.object({ kind: v.literal(GATEWAY_SYNC.kind), spec: v.optional(v.unknown()) });
const schema = v.object({
  ...kindSchema.entries,
  metadata: v.object({ name: v.string(), namespace: v.optional(v.string()) }),
  spec: gatewaySyncSpecSchema,
});

/** A GatewaySync in a file, with the defaults that the API server would set. */
export type GatewaySyncManifest = v.InferOutput<typeof schema>;

/** Returns the only GatewaySync among the objects of a manifest. Throws `Problem`. */
export function readGatewaySync(objects: readonly unknown[]): GatewaySyncManifest {
  const [first, ...others] = objects.filter((object) => v.is(kindSchema, object));
  if (others.length > 0)
    throw new Problem('the manifest contains several GatewaySyncs: specify a file with one', 'ManifestInvalid');
  if (first === undefined) throw new Problem('the manifest contains no GatewaySync', 'ManifestInvalid');
  const parsed = v.safeParse(schema, first, OWN_WORDS);
  if (parsed.success) {
    const unknown = unknownFields(first.spec, parsed.output.spec, 'spec');
    if (unknown.length > 0)
      throw new Problem(`the GatewaySync has unknown fields: ${unknown.join(', ')}`, 'ManifestInvalid');
    return parsed.output;
  }
  const [{ message, path = [] }] = parsed.issues;
  throw new Problem(
    `the GatewaySync is invalid: ${path.map(({ key }) => key).join('.')}: ${message}`,
    'ManifestInvalid',
  );
}

/** Lists the fields that the schema has dropped. The API server would drop them as well, or reject the object. */
function unknownFields(given: unknown, parsed: unknown, path: string): string[] {
  if (!isObject(given) || !isObject(parsed)) return [];
  return Object.entries(given).flatMap(([key, value]) => {
    const field = Array.isArray(given) ? `${path}[${key}]` : `${path}.${key}`;
    return Object.hasOwn(parsed, key) ? unknownFields(value, parsed[key], field) : [field];
  });
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;
