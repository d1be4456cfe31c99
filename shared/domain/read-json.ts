import * as v from 'valibot';
import { isBoundedJson, type JsonBounds } from './is-bounded-json.ts';

/** Default limits for a server's response. */
export const ANSWER_BOUNDS: JsonBounds = { depth: 32, parts: 50_000 };

/**
 * Reads JSON of somebody who may not mean well; undefined where it is none, does not fit, or has more parts than the
 * bounds allow. Ends at the first thing that is wrong: a list of them would take a hundred times the room of the text.
 */
export function readJson<TSchema extends v.GenericSchema>(
  schema: TSchema,
  bytes: Uint8Array,
  bounds: JsonBounds,
): v.InferOutput<TSchema> | undefined {
  if (!isBoundedJson(bytes, bounds)) return undefined;
  try {
    const parsed = v.safeParse(schema, JSON.parse(new TextDecoder().decode(bytes)), { abortEarly: true });
    return parsed.success ? parsed.output : undefined;
  } catch {
    return undefined; // no JSON
  }
}
