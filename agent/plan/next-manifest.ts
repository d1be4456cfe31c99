import { createHash } from 'node:crypto';
import type { Applied, ManifestUpdate, OwnedFile } from './manifest.ts';
import type { Plan } from './plan-changes.ts';

/** Returns the manifest update for a completed plan; `written` are the new files. */
export function manifestUpdate(
  { corrected, disowned, directories }: Plan,
  written: OwnedFile[],
  applied: Applied,
): ManifestUpdate {
  return {
    files: [...corrected, ...written],
    folders: directories.create,
    forgottenFiles: disowned,
    forgottenFolders: [...directories.clear, ...directories.prune],
    applied,
  };
}

/** Ending of all names in `taken-over`. */
export const KEPT_ENDING = '.kept';

/**
 * Returns a name in `taken-over` for the entry at a path; the number distinguishes several. It doesn't keep the
 * extension, so that programs that scan the volume don't find it.
 */
export function displacedName(path: string, number: number): string {
  const id = createHash('sha256').update(path).digest('hex').slice(0, 16);
  const base = path.slice(path.lastIndexOf('/') + 1).replace(/[^\w.-]/g, '_');
  return `${id}${number > 1 ? `-${number}` : ''}-${base.slice(0, 100)}${KEPT_ENDING}`;
}
