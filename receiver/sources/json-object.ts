import { isBoundedJson } from '../../shared/domain/is-bounded-json.ts';
import { isObject } from '../../shared/domain/objects.ts';

/** A parsed JSON object; any of its fields may hold any JSON value. */
export type JsonObject = Readonly<Record<string, unknown>>;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Some times what hosts send: a push of 3 MiB lists about a hundred thousand file names. */
const BOUNDS = { depth: 100, parts: 300_000 };

/** Parses UTF-8 JSON (RFC 8259); undefined where it is broken, of too many parts, or no object at the top. */
export function parseJsonObject(bytes: Uint8Array): JsonObject | undefined {
  if (!isBoundedJson(bytes, BOUNDS)) return undefined;
  try {
    const value: unknown = JSON.parse(utf8.decode(bytes));
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Follows a path of field names; undefined where a step is missing, null, or no object. Reads own fields only. */
export function fieldOf(value: unknown, ...path: string[]): unknown {
  let current = value;
  for (const name of path) {
    if (!isObject(current) || !Object.hasOwn(current, name)) return undefined;
    current = current[name];
  }
  return current ?? undefined;
}
