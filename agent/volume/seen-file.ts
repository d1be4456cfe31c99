import { lstatSync } from 'node:fs';
import { type Fingerprint, isSameFingerprint } from '../plan/manifest.ts';
import type { LiveEntry } from '../plan/plan-input.ts';
import { sha256Of } from './scan-tree.ts';

/** Whether a file is what was looked at: told by its fingerprint, or, where that differs, by its content. */
export async function isAsSeen(file: string, was: LiveEntry): Promise<boolean> {
  const stats = lstatSync(file);
  if (was.kind !== 'file') return !stats.isFile() && !stats.isDirectory();
  if (!stats.isFile()) return false;
  if (isSameFingerprint(was.fingerprint, stats)) return true;
  return stats.size === was.fingerprint.size && (await sha256Of(file)) === was.sha256;
}

/** Whether the very file is there, and nobody wrote into it. */
export function isUnchanged(file: string, seen: Fingerprint): boolean {
  const stats = lstatSync(file, { throwIfNoEntry: false });
  return stats !== undefined && isSameFingerprint(seen, stats);
}

/** Whether two paths are names of one file. As a number, an inode above 2^53 is rounded to that of another file. */
export function isSameFile(one: string, other: string): boolean {
  const [a, b] = [one, other].map((path) => lstatSync(path, { bigint: true, throwIfNoEntry: false }));
  if (!a || !b) return false;
  return a.ino === b.ino && a.dev === b.dev && a.size === b.size && a.mtimeNs === b.mtimeNs;
}

/** The fingerprint of what was there, if it was a file. */
export const printOf = (was: LiveEntry): Fingerprint | undefined => (was.kind === 'file' ? was.fingerprint : undefined);
