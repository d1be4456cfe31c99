import { lstatSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { LiveEntry, LiveFile, LiveTree } from '../domain/live-tree.ts';
import type { Fingerprint, Manifest, OwnedFile } from '../domain/manifest.ts';
import { allFolders, joinPath } from '../domain/relative-path.ts';
import type { DataRoot } from './data-root.ts';
import { fingerprintOf, isExecutable, isSameFingerprint } from './fingerprint.ts';
import { forEachLimited } from './for-each-limited.ts';
import { hashFile } from './hash-file.ts';

/** Files that are read at once. */
const CONCURRENCY = 8;
/** Paths between two turns of the event loop: probes are answered meanwhile. */
const SLICE = 500;

export interface ScanInput {
  /** Paths at which a file must be. */
  desired: Iterable<string>;
  manifest: Manifest;
  /** Tells of a recorded file that it is taken to be as recorded, without a look. */
  isTrusted: (file: OwnedFile) => boolean;
  /** Algorithm of the repository's object ids. */
  algorithm: 'sha1' | 'sha256';
}

/**
 * Looks at the paths that matter and at nothing else. A file is read only if its fingerprint is not the recorded one,
 * a link is never followed, and what lies behind one counts as not there.
 */
export async function scanTree(
  root: DataRoot,
  { desired, manifest, isTrusted, algorithm }: ScanInput,
): Promise<LiveTree> {
  const owned = new Map(manifest.files.map((file) => [file.path, file]));
  const wanted = new Set(desired);
  const paths = new Set([...wanted, ...owned.keys(), ...manifest.folders]);
  // A folder can be looked at only when those above it are known: sorted, they come first.
  const folders = allFolders(paths);
  const live = new Map<string, LiveEntry>();
  const unread: UnreadFile[] = [];
  let looked = 0;
  for (const path of new Set([...folders, ...paths])) {
    const parent = path.slice(0, Math.max(0, path.lastIndexOf('/')));
    if (parent !== '' && live.get(parent)?.kind !== 'folder') continue;
    const record = owned.get(path);
    if (record && isTrusted(record)) {
      live.set(path, asRecorded(record));
      continue;
    }
    const entry = look(root.absolute(path), record);
    if (entry?.kind === 'unread') unread.push({ ...entry, path });
    else if (entry) live.set(path, entry);
    if (++looked % SLICE === 0) await nextTurn();
  }
  await forEachLimited(unread, CONCURRENCY, async (file) => {
    const hashes = await hashFile(root.absolute(file.path), algorithm).catch(absent);
    if (hashes) live.set(file.path, { ...file, kind: 'file', ...hashes });
  });
  for (const path of wanted) {
    if (live.get(path)?.kind === 'folder') live.set(path, { kind: 'folder', content: await listBelow(root, path) });
  }
  return live;
}

interface UnreadFile {
  kind: 'unread';
  path: string;
  executable: boolean;
  fingerprint: Fingerprint;
}

/** Synchronous, since a call through the thread pool costs ten times what the system call does. */
function look(path: string, owned: OwnedFile | undefined): LiveEntry | Omit<UnreadFile, 'path'> | undefined {
  const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  if (!stats) return undefined;
  if (stats.isSymbolicLink()) return { kind: 'link' };
  if (stats.isDirectory()) return { kind: 'folder' };
  if (!stats.isFile()) return { kind: 'other' };
  const executable = isExecutable(stats);
  const fingerprint = fingerprintOf(stats);
  if (!owned || !isSameFingerprint(owned.fingerprint, fingerprint)) return { kind: 'unread', executable, fingerprint };
  return { ...asRecorded(owned), executable };
}

function asRecorded({ inputs, patches, blob, executable, fingerprint, sha256 }: OwnedFile): LiveFile {
  return { kind: 'file', executable, fingerprint, sha256, blob: inputs || patches ? undefined : blob };
}

async function listBelow(root: DataRoot, folder: string): Promise<string[]> {
  const entries = await readdir(root.absolute(folder), { withFileTypes: true });
  const lists = entries.map(async (entry) => {
    const path = joinPath(folder, entry.name);
    return entry.isDirectory() ? [path, ...(await listBelow(root, path))] : [path];
  });
  return (await Promise.all(lists)).flat();
}

/** It went away, or became a link, between two looks. */
function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR' || error.code === 'ELOOP') return undefined;
  throw error;
}
