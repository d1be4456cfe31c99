import { isBoundedJson } from '../../shared/domain/limits/is-bounded-json.ts';
import { isObject } from '../../shared/domain/text/objects.ts';

/** A parsed JSON object whose fields can have any JSON value. */
export type JsonObject = Readonly<Record<string, unknown>>;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Several times the size of real payloads; a push of 3 MiB lists about 100,000 file names. */
const BOUNDS = { depth: 100, parts: 300_000 };

/** Parses UTF-8 JSON (RFC 8259); undefined if it's invalid, has too many parts, or isn't an object. */
export function parseJsonObject(bytes: Uint8Array): JsonObject | undefined {
  if (!isBoundedJson(bytes, BOUNDS)) return undefined;
  try {
    const value: unknown = JSON.parse(utf8.decode(bytes));
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Follows a path of field names; undefined if a step is missing, null, or not an object. Reads own fields only. */
export function fieldOf(value: unknown, ...path: string[]): unknown {
  let current = value;
  for (const name of path) {
    if (!isObject(current) || !Object.hasOwn(current, name)) return undefined;
    current = current[name];
  }
  return current ?? undefined;
}
