import type { Stats } from 'node:fs';
import type { Fingerprint } from '../plan/manifest.ts';

/** Resolution of file systems with times in whole or even seconds. */
const COARSE_MS = 2_000;

/** Moving a file doesn't change its fingerprint. `takenAt` is the current time (ms since 1970). */
export function fingerprintOf({ size, mtimeMs, ino }: Stats, takenAt = Date.now()): Fingerprint {
  const isRacy = mtimeMs % 1000 === 0 && Math.abs(takenAt - mtimeMs) < COARSE_MS;
  return isRacy ? { size, mtimeMs, ino, isRacy } : { size, mtimeMs, ino };
}
