import type { ManagedFieldsEntry } from '../../shared/api/object-meta.ts';

/** Manager that `kubectl apply` uses without --server-side; its writes are kept in a file, like those of an Apply. */
const CLIENT_SIDE_APPLY = 'kubectl-client-side-apply';

/** The entry that owns the field at the path (`['f:spec', 'f:git', 'f:ref']`), the latest if several do. */
export function ownerOfField(
  entries: ManagedFieldsEntry[] | undefined,
  path: string[],
): ManagedFieldsEntry | undefined {
  const owners = (entries ?? []).filter((entry) => !entry.subresource && owns(entry.fieldsV1, path));
  return owners.sort((a, b) => Date.parse(b.time ?? '') - Date.parse(a.time ?? ''))[0];
}

function owns(fields: unknown, path: string[]): boolean {
  let node = fields;
  for (const key of path) {
    if (typeof node !== 'object' || node === null || !Object.hasOwn(node, key)) return false;
    node = (node as Record<string, unknown>)[key];
  }
  return true;
}

/** Whether the field was applied from a manifest, and so is kept in a file somewhere. */
export function isApplied(entry: ManagedFieldsEntry | undefined): boolean {
  return entry?.operation === 'Apply' || entry?.manager === CLIENT_SIDE_APPLY;
}
