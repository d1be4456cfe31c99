/** One operation of a JSON Patch (RFC 6902). */
export interface PatchOperation {
  op: 'add';
  path: string;
  value: unknown;
}

/** Sets entries of a map that may be absent; those that are there already with that value need no operation. */
export function setEntries(
  present: Record<string, string> | undefined,
  path: string,
  values: Record<string, string>,
): PatchOperation[] {
  const wanted = Object.entries(values).filter(([key, value]) => present?.[key] !== value);
  if (wanted.length === 0) return [];
  if (!present) return [{ op: 'add', path, value: Object.fromEntries(wanted) }];
  return wanted.map(([key, value]) => ({ op: 'add', path: `${path}/${escapePointer(key)}`, value }));
}

/** Appends to a list that may be absent. */
export function append(present: unknown[] | undefined, path: string, values: unknown[]): PatchOperation[] {
  if (!present) return [{ op: 'add', path, value: values }];
  return values.map((value) => ({ op: 'add', path: `${path}/-`, value }));
}

/** RFC 6901. */
function escapePointer(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}
