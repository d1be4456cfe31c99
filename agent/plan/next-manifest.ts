import { createHash } from 'node:crypto';
import type { Applied, Manifest, ManifestUpdate, OwnedFile } from './manifest.ts';
import type { Plan } from './plan-changes.ts';

/**
 * What the manifest has to say before the first change: it then covers what is there and what is about to be written,
 * so that whatever a kill leaves behind has an owner. Files that the agent never owned before count only with the new
 * content.
 */
export function updateBefore(plan: Plan, manifest: Manifest, staged: OwnedFile[]): ManifestUpdate {
  const isNew = (path: string) => {
    const record = manifest.files.get(path);
    return !record || record.found || manifest.pending.has(path);
  };
  return {
    files: [...plan.corrected, ...staged],
    pending: new Set(staged.flatMap(({ path }) => (isNew(path) ? [path] : []))),
    folders: plan.folders.create,
    forgottenFiles: [],
    forgottenFolders: [],
    applied: undefined,
  };
}

/** What is to be said after the last change. */
export function updateAfter({ disowned, folders }: Plan, applied: Applied): ManifestUpdate {
  return {
    files: [],
    pending: new Set(),
    folders: [],
    forgottenFiles: disowned,
    forgottenFolders: [...folders.clear, ...folders.prune],
    applied,
  };
}

/** What is to be said where no file changes. */
export function updateRecords(plan: Plan, applied: Applied): ManifestUpdate {
  return { ...updateAfter(plan, applied), files: plan.corrected };
}

/** A name for what was at a path, in the folder with what was taken over; the number tells several from one another. */
export function keptName(path: string, number: number): string {
  const id = createHash('sha256').update(path).digest('hex').slice(0, 16);
  const base = path.slice(path.lastIndexOf('/') + 1).replace(/[^\w.-]/g, '_');
  return `${id}${number > 1 ? `-${number}` : ''}-${base.slice(0, 100)}`;
}
