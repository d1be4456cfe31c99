import type { Stats } from 'node:fs';
import type { Fingerprint } from '../plan/manifest.ts';

/** Moving a file into place changes none of it. */
export function fingerprintOf({ size, mtimeMs, ino }: Stats): Fingerprint {
  return { size, mtimeMs, ino };
}

/** Whether the file is the same, untouched one. */
export function isSameFingerprint(a: Fingerprint, { size, mtimeMs, ino }: Fingerprint): boolean {
  return a.size === size && a.mtimeMs === mtimeMs && a.ino === ino;
}

/** Whether the owner may execute the file: the one bit of the mode that git knows. */
export function isExecutable({ mode }: Stats): boolean {
  return (mode & 0o100) !== 0;
}
