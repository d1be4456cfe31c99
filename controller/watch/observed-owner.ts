import type { ManagedFieldsEntry } from '../../shared/api/object-meta.ts';

/** Manager that `kubectl apply` uses without --server-side; its writes are kept in a file, like those of an Apply. */
const CLIENT_SIDE_APPLY = 'kubectl-client-side-apply';

/** Returns the entries that own the field at the path (`['f:spec', 'f:git', 'f:ref']`), in the order of the API server. */
export function ownersOfField(entries: ManagedFieldsEntry[] | undefined, path: string[]): ManagedFieldsEntry[] {
  return (entries ?? []).filter(({ subresource, fieldsV1 }) => !subresource && owns(fieldsV1, path));
}

function owns(fields: unknown, path: string[]): boolean {
  let node = fields;
  for (const key of path) {
    if (typeof node !== 'object' || node === null || !Object.hasOwn(node, key)) return false;
    node = (node as Record<string, unknown>)[key];
  }
  return true;
}

/** Annotation in which client-side apply stores the manifest. Argo CD does so in its own name. */
const MANIFEST = ['f:metadata', 'f:annotations', 'f:kubectl.kubernetes.io/last-applied-configuration'];

/** Whether the owner applied the field from a manifest, and so keeps it in a file somewhere. */
export function isApplied({ operation, manager, fieldsV1 }: ManagedFieldsEntry): boolean {
  return operation === 'Apply' || manager === CLIENT_SIDE_APPLY || owns(fieldsV1, MANIFEST);
}
