import { lstatSync, type PathLike, readlinkSync, type Stats } from 'node:fs';
import { linkHash } from '../plan/links/kept-link.ts';
import { type Fingerprint, isSameFingerprint } from '../plan/manifest.ts';
import type { LiveEntry, LiveFile } from '../plan/plan-input.ts';
import { readHash } from './hash-file.ts';

/** Identifies a file later. If the volume has new inodes after a restart, the content decides. */
export type SeenFile = Pick<Fingerprint, 'size' | 'mtimeMs' | 'ino'> & { sha256: string };

/** `other`: a symbolic link, or anything else that is neither a file nor a directory. */
export type Seen = SeenFile | 'other';

/** Returns the properties that identify a scanned file later. */
export const seenFile = ({ fingerprint: { size, mtimeMs, ino }, sha256 }: Pick<LiveFile, 'fingerprint' | 'sha256'>) =>
  ({ size, mtimeMs, ino, sha256 }) satisfies SeenFile;

/** Returns the properties that identify a scanned entry later; undefined for a directory, which no file replaces. */
export function seenEntry(entry: LiveEntry | undefined): Seen | undefined {
  if (!entry || entry.kind === 'directory') return undefined;
  return entry.kind === 'file' ? seenFile(entry) : 'other';
}

/** Checks whether an entry is the one seen earlier, by its fingerprint or, if that differs, by its content. */
export async function isSeen(path: string, seen: Seen): Promise<boolean> {
  const stats = lstatSync(path);
  if (seen === 'other') return !stats.isFile() && !stats.isDirectory();
  if (!stats.isFile() && !stats.isSymbolicLink()) return false;
  if (isSameFingerprint(seen, stats)) return true;
  if (stats.isSymbolicLink()) return linkHash(readlinkSync(path)) === seen.sha256;
  return stats.size === seen.size && (await readHash(path)) === seen.sha256;
}

/** Reads the status of an entry without following links; undefined if there is none. */
export const statOf = (path: PathLike): Stats | undefined => lstatSync(path, { throwIfNoEntry: false });

/** Checks whether the path still has the same, unchanged file. */
export function isUnchanged(file: PathLike, seen: Fingerprint): boolean {
  const stats = statOf(file);
  return stats !== undefined && isSameFingerprint(seen, stats);
}

/** Checks whether two paths name the same file. BigInt, because inodes above 2^53 would be rounded. */
export function isSameFile(one: PathLike, other: PathLike): boolean {
  const [a, b] = [one, other].map((path) => lstatSync(path, { bigint: true, throwIfNoEntry: false }));
  if (!a || !b) return false;
  return a.ino === b.ino && a.dev === b.dev && a.size === b.size && a.mtimeNs === b.mtimeNs;
}
