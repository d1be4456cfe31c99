import * as v from 'valibot';
import { isBoundedJson, type JsonBounds } from '../limits/is-bounded-json.ts';

/** Default limits for a server's response. */
export const ANSWER_BOUNDS: JsonBounds = { depth: 32, parts: 50_000 };

/**
 * Reads untrusted JSON; undefined if it's invalid, doesn't match, or has too many parts. Stops at the first problem,
 * because a list of them could use a hundred times the memory of the text.
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
