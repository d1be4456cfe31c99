/** An operation of a JSON Patch (RFC 6902). */
export interface PatchOperation {
  op: 'add' | 'replace' | 'test';
  /** JSON pointer (RFC 6901). */
  path: string;
  value: unknown;
}

/** Escapes a key for a JSON pointer. */
export const escapePointer = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1');
