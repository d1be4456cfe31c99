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
