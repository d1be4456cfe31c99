import { lstatSync } from 'node:fs';
import { allFolders } from '../../shared/domain/relative-path.ts';
import type { Manifest } from '../plan/manifest.ts';
import type { DataRoot } from './data-root.ts';
import { isExecutable, isSameFingerprint } from './fingerprint.ts';
import { Pacer } from './pacer.ts';

/** Whether every file and folder is there as the manifest has it, told by fingerprints; no link is followed. */
export async function isUntouched(root: DataRoot, { files, folders }: Manifest): Promise<boolean> {
  const pacer = new Pacer();
  for (const folder of new Set([...allFolders(files.keys()), ...folders])) {
    if (!lstatSync(root.absolute(folder), { throwIfNoEntry: false })?.isDirectory()) return false;
  }
  for (const { path, executable, fingerprint } of files.values()) {
    const stats = lstatSync(root.absolute(path), { throwIfNoEntry: false });
    if (!stats?.isFile() || !isSameFingerprint(fingerprint, stats) || isExecutable(stats) !== executable) return false;
    if (pacer.isDue) await pacer.rest();
  }
  return true;
}
