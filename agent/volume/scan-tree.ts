import { createHash } from 'node:crypto';
import { constants, createReadStream, fstatSync, lstatSync, openSync, readdirSync, type Stats } from 'node:fs';
import { allFolders, joinPath } from '../../shared/domain/relative-path.ts';
import { isLfsPointer } from '../lfs/lfs-pointer.ts';
import { type Fingerprint, isSameFingerprint, type Manifest, type OwnedFile } from '../plan/manifest.ts';
import type { DesiredTree, LiveEntry, LiveFile, LiveTree } from '../plan/plan-input.ts';
import type { DataRoot } from './data-root.ts';
import { forEachLimited, Pacer } from './pacer.ts';

/** Files that are read at once. */
const CONCURRENCY = 8;

export interface ScanInput {
  desired: DesiredTree;
  manifest: Manifest;
  /** Algorithm of the repository's object ids. */
  algorithm: 'sha1' | 'sha256';
}

/**
 * Looks at the paths that matter and at nothing else. A file is read only if its fingerprint is not the recorded one,
 * a link is never followed, and what lies behind one counts as not there.
 */
export async function scanTree(root: DataRoot, { desired, manifest, algorithm }: ScanInput): Promise<LiveTree> {
  const live = new ScannedTree(manifest);
  const unread: UnreadFile[] = [];
  const pacer = new Pacer();
  for (const path of pathsOf(desired, manifest)) {
    const entry = live.isReachable(path) ? look(root, path, manifest.files.get(path)) : undefined;
    if (entry?.kind === 'unread') unread.push({ ...entry, path });
    else if (entry?.kind !== 'recorded') live.note(path, entry);
    if (pacer.isDue) await pacer.rest();
  }
  await forEachLimited(unread, CONCURRENCY, async (file) => {
    const opened = root.look(file.path, openFile);
    const hashes = opened === undefined ? undefined : await hashOpen(opened, algorithm);
    live.note(file.path, hashes && { ...file, kind: 'file', ...hashes });
  });
  for (const path of desired.files.keys()) {
    if (live.get(path)?.kind === 'folder') live.note(path, { kind: 'folder', content: await listBelow(root, path) });
  }
  return live;
}

/** A path can be looked at only when the folders above it are known: they come first. */
function* pathsOf({ files, folders }: DesiredTree, manifest: Manifest): Generator<string> {
  const others = [...manifest.files.keys(), ...manifest.folders];
  yield* new Set([...folders, ...allFolders(others), ...manifest.folders].sort());
  for (const path of files.keys()) if (!folders.has(path)) yield path;
  for (const path of manifest.files.keys()) if (!files.has(path)) yield path;
}

/** What was found, told as the difference from what is recorded: most files are as they were left. */
class ScannedTree implements LiveTree {
  readonly #owned: Manifest['files'];
  readonly #found = new Map<string, LiveEntry | undefined>();

  constructor({ files }: Manifest) {
    this.#owned = files;
  }

  get(path: string): LiveEntry | undefined {
    const found = this.#found.get(path);
    if (found || this.#found.has(path)) return found;
    const record = this.#owned.get(path);
    return record && asRecorded(record);
  }

  note(path: string, entry: LiveEntry | undefined): void {
    this.#found.set(path, entry);
  }

  /** Whether the folder that the path lies in is there. */
  isReachable(path: string): boolean {
    const end = path.lastIndexOf('/');
    return end === -1 || this.#found.get(path.slice(0, end))?.kind === 'folder';
  }
}

interface UnreadFile {
  kind: 'unread';
  path: string;
  executable: boolean;
  fingerprint: Fingerprint;
}

type Look = LiveEntry | { kind: 'recorded' } | Omit<UnreadFile, 'path'> | undefined;

function look(root: DataRoot, path: string, owned: OwnedFile | undefined): Look {
  const stats = root.look(path, lstat);
  if (!stats) return undefined;
  if (stats.isSymbolicLink()) return { kind: 'link' };
  if (stats.isDirectory()) return { kind: 'folder' };
  if (!stats.isFile()) return { kind: 'other' };
  const executable = isExecutable(stats);
  if (!owned || !isSameFingerprint(owned.fingerprint, stats)) {
    return { kind: 'unread', executable, fingerprint: fingerprintOf(stats) };
  }
  return executable === owned.executable ? { kind: 'recorded' } : { ...asRecorded(owned), executable };
}

function asRecorded({ inputs, patches, blob, executable, fingerprint, sha256 }: OwnedFile): LiveFile {
  return { kind: 'file', executable, fingerprint, sha256, blob: inputs || patches ? undefined : blob };
}

/** Everything in a folder, at any depth. */
async function listBelow(root: DataRoot, folder: string): Promise<string[]> {
  const pacer = new Pacer();
  const found: string[] = [];
  const folders = [folder];
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    for (const entry of root.look(next, (path) => readdirSync(path, { withFileTypes: true })) ?? []) {
      const path = joinPath(next, entry.name);
      found.push(path);
      if (entry.isDirectory()) folders.push(path);
    }
    if (pacer.isDue) await pacer.rest();
  }
  return found;
}

/** Whether every file and folder is there as the manifest has it, told by fingerprints; no link is followed. */
export async function isUntouched(root: DataRoot, { files, folders }: Manifest): Promise<boolean> {
  const pacer = new Pacer();
  for (const folder of new Set([...allFolders(files.keys()), ...folders])) {
    if (!root.look(folder, lstat)?.isDirectory()) return false;
  }
  for (const { path, executable, fingerprint } of files.values()) {
    const stats = root.look(path, lstat);
    if (!stats?.isFile() || !isSameFingerprint(fingerprint, stats) || isExecutable(stats) !== executable) return false;
    if (pacer.isDue) await pacer.rest();
  }
  return true;
}

interface FileHashes {
  sha256: string;
  /** Git's id of the content as a blob; undefined for a pointer of Git LFS, which is never the right content. */
  blob: string | undefined;
}

/** Neither follows a link nor waits for a pipe, should one have taken the file's place. */
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

const lstat = (path: string): Stats | undefined => lstatSync(path, { throwIfNoEntry: false });

const openFile = (path: string): number => openSync(path, FLAGS);

/** Reads a file in pieces and hashes it both ways; `algorithm` is that of the repository's object ids. */
export async function hashFile(path: string, algorithm: 'sha1' | 'sha256'): Promise<FileHashes> {
  return await hashOpen(openFile(path), algorithm);
}

/** Closes the descriptor in the end. */
async function hashOpen(descriptor: number, algorithm: 'sha1' | 'sha256'): Promise<FileHashes> {
  const stream = createReadStream('', { fd: descriptor });
  const { size } = fstatSync(descriptor);
  const content = createHash('sha256');
  const object = createHash(algorithm).update(`blob ${size}\0`);
  let isPointer = false;
  for await (const chunk of stream) {
    isPointer ||= isLfsPointer(chunk as Buffer, size);
    content.update(chunk as Buffer);
    object.update(chunk as Buffer);
  }
  return { sha256: content.digest('hex'), blob: isPointer ? undefined : object.digest('hex') };
}

/** Moving a file into place changes none of it. */
export function fingerprintOf({ size, mtimeMs, ino }: Stats): Fingerprint {
  return { size, mtimeMs, ino };
}

/** Whether the owner may execute the file: the one bit of the mode that git knows. */
function isExecutable({ mode }: Stats): boolean {
  return (mode & 0o100) !== 0;
}
