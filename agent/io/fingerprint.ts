import type { BigIntStats } from 'node:fs';
import type { Fingerprint } from '../domain/manifest.ts';

/** What tells, without reading, that a file is still the one that was written: moving it into place changes none of it. */
export function fingerprintOf({ size, mtimeNs, ino }: BigIntStats): Fingerprint {
  return { size: String(size), mtimeNs: String(mtimeNs), ino: String(ino) };
}

/** Whether both are of the same, untouched file. */
export function isSameFingerprint(a: Fingerprint, b: Fingerprint): boolean {
  return a.size === b.size && a.mtimeNs === b.mtimeNs && a.ino === b.ino;
}

/** Whether the owner may execute the file: the one bit of the mode that git knows. */
export function isExecutable({ mode }: BigIntStats): boolean {
  return (mode & 0o100n) !== 0n;
}
