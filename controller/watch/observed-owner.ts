import type { ManagedFieldsEntry } from '../../shared/api/object-meta.ts';

/** Manager that `kubectl apply` uses without --server-side; its writes are kept in a file, like those of an Apply. */
const CLIENT_SIDE_APPLY = 'kubectl-client-side-apply';

/** Returns the entry that owns the field at the path (`['f:spec', 'f:git', 'f:ref']`), the latest if several do. */
export function ownerOfField(
  entries: ManagedFieldsEntry[] | undefined,
  path: string[],
): ManagedFieldsEntry | undefined {
  let owner: ManagedFieldsEntry | undefined;
  let latest = Number.NEGATIVE_INFINITY;
  // One pass: each of ten thousand managers may have applied the field.
  for (const entry of entries ?? []) {
    if (entry.subresource || !owns(entry.fieldsV1, path)) continue;
    const time = timeOf(entry) ?? Number.NEGATIVE_INFINITY;
    if (owner && time <= latest) continue;
    owner = entry;
    latest = time;
  }
  return owner;
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

/** When it was last written (ms since the epoch); whole seconds. */
function timeOf(entry: ManagedFieldsEntry | undefined): number | undefined {
  return entry?.time === undefined ? undefined : Date.parse(entry.time);
}
