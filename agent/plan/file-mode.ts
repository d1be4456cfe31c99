import type { OwnedFile } from './manifest.ts';
import type { DesiredFile, LiveFile } from './plan-input.ts';

/** Returns the permission bits of a file: those of its mapping, or else the usual ones. */
export const modeOf = ({ executable, mode }: Pick<DesiredFile, 'executable' | 'mode'>, groupWrite: boolean): number =>
  mode ?? (executable ? 0o755 : 0o644) | (groupWrite ? 0o020 : 0);

/**
 * Checks the mode of an existing file. If the mapping sets none, now or in the sync that the record is from, only the
 * executable bit counts, as in git.
 */
export function hasMode(
  live: LiveFile,
  file: Pick<DesiredFile, 'executable' | 'mode'>,
  { record, groupWrite }: { record: OwnedFile | undefined; groupWrite: boolean },
): boolean {
  if (live.executable !== file.executable) return false;
  const isSet = file.mode !== undefined || record?.mode !== undefined;
  return !isSet || live.mode === undefined || live.mode === modeOf(file, groupWrite);
}
