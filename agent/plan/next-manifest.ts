import { createHash } from 'node:crypto';
import type { Applied, ManifestUpdate, OwnedFile } from './manifest.ts';
import type { Plan } from './plan-changes.ts';

/** How the manifest changes by a plan that was carried out: `written` are the files that came. */
export function manifestUpdate(
  { corrected, disowned, folders }: Plan,
  written: OwnedFile[],
  applied: Applied,
): ManifestUpdate {
  return {
    files: [...corrected, ...written],
    folders: folders.create,
    forgottenFiles: disowned,
    forgottenFolders: [...folders.clear, ...folders.prune],
    applied,
  };
}

/** Ending of all names in the folder with what was taken over. */
export const KEPT_ENDING = '.kept';

/**
 * A name for what was at a path, in the folder with what was taken over; the number tells several from one another. It
 * doesn't keep the ending, by which a program that scans the volume would find it.
 */
export function displacedName(path: string, number: number): string {
  const id = createHash('sha256').update(path).digest('hex').slice(0, 16);
  const base = path.slice(path.lastIndexOf('/') + 1).replace(/[^\w.-]/g, '_');
  return `${id}${number > 1 ? `-${number}` : ''}-${base.slice(0, 100)}${KEPT_ENDING}`;
}
