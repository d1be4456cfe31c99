import { opendirSync, readlinkSync, type Stats } from 'node:fs';
import { isWithin, joinPath } from '../../../shared/domain/files/relative-path.ts';
import { Pacer } from '../../../shared/io/pacer.ts';
import { fingerprintOf } from '../../disk/fingerprint-of.ts';
import { forEachLimited } from '../../disk/for-each.ts';
import { hashOpen, isForbidden, openFile, UNREAD } from '../../disk/hash-file.ts';
import { HeldDirectory } from '../../disk/held-directory.ts';
import { statOf } from '../../disk/seen-file.ts';
import { unlessCode } from '../../disk/unless-code.ts';
import { allDirectories } from '../../plan/directories.ts';
import { modeOf } from '../../plan/file-mode.ts';
import { linkHash } from '../../plan/links/kept-link.ts';
import { type Fingerprint, type Manifest, type OwnedFile, provesUntouched } from '../../plan/manifest.ts';
import type { DesiredFile, DesiredTree, LiveEntry, LiveFile, LiveTree } from '../../plan/plan-input.ts';
import type { VolumeTraits } from '../../plan/volume-traits.ts';
import { type DataRoot, unlessAbsent } from '../state/data-root.ts';
import { linkedTree } from './tree-link.ts';

/** Number of files that are read at once. */
const CONCURRENCY = 8;

export interface ScanInput {
  desired: DesiredTree;
  manifest: Manifest;
  /** Algorithm of the repository's object IDs. */
  algorithm: 'sha1' | 'sha256';
  /** Destinations that are to be links to trees. If omitted, none. */
  roots?: readonly string[];
  /** Whether to take the agent's own entries as recorded, without looking: changes by others then don't count. */
  trustsRecords?: boolean | undefined;
  /** Aborts reading. */
  signal?: AbortSignal | undefined;
}

/**
 * Scans only the relevant paths. A file is read only if its fingerprint differs from the recorded one. Links are never
 * followed, and entries behind one are considered missing, except for files in trees. In such a tree, only files of the
 * agent count: others are never in the way, because the next tree doesn't have them.
 */
export async function scanTree(root: DataRoot, input: ScanInput): Promise<LiveTree> {
  const { desired, manifest, algorithm, signal, trustsRecords = false } = input;
  root.checkPlace();
  const roots = [...new Set([...(input.roots ?? []), ...manifest.trees.keys()])];
  const isInTree = (path: string) => roots.some((each) => isWithin(path, each));
  const live = new ScannedTree(manifest, isInTree);
  const unread: UnreadFile[] = [];
  const { keepsModes } = root.traitsBy(manifest);
  const ownDirectories = new Set(
    trustsRecords ? [...allDirectories(manifest.files.keys()), ...manifest.directories] : [],
  );
  const pacer = new Pacer();
  for (const path of pathsOf(desired, manifest, roots)) {
    const owned = manifest.files.get(path);
    if (desired.files.has(path) && (!owned || owned.found) && isInTree(path)) {
      live.note(path, undefined);
      continue;
    }
    const expected = { owned, wanted: desired.files.get(path) ?? owned, keepsModes };
    const recorded = trustsRecords ? recordedEntry(path, expected, ownDirectories) : undefined;
    const entry = recorded ?? (live.isReachable(path) ? scanEntry(root, path, expected) : undefined);
    if (entry?.kind === 'unread') unread.push({ ...entry, path });
    else if (entry?.kind !== 'recorded') live.note(path, entry);
    if (pacer.isDue) await pacer.rest();
  }
  const directories = new HeldDirectory((path) => root.openDirectory(root.pathOnDisk(path)));
  await forEachLimited(unread, CONCURRENCY, async (file) => {
    if (pacer.isDue) await pacer.rest();
    const isDrift = isOtherSize(file, { desired, manifest });
    const entry = isDrift ? ofOtherSize(file) : await readLive(file, { algorithm, signal, directories });
    live.note(file.path, entry);
  }).finally(() => directories.close());
  const { files, directories: own, trees } = manifest;
  const isOwn = (path: string) => files.has(path) || own.has(path) || trees.has(path);
  for (const path of desired.files.keys()) {
    if (live.get(path)?.kind === 'directory')
      live.note(path, { kind: 'directory', content: await listBelow(root, path, { isOwn }) });
  }
  return live;
}

/** Returns directories first, because paths are scanned only if their parent is known. */
function* pathsOf({ files, directories }: DesiredTree, manifest: Manifest, roots: string[]): Generator<string> {
  const others = [...manifest.files.keys(), ...manifest.directories, ...roots];
  yield* new Set([...directories, ...allDirectories(others), ...manifest.directories].sort());
  for (const path of files.keys()) if (!directories.has(path)) yield path;
  for (const path of manifest.files.keys()) if (!files.has(path)) yield path;
}

/** Scanned entries, stored as differences from the records because most files are unchanged. */
class ScannedTree implements LiveTree {
  readonly #owned: Manifest['files'];
  readonly #found = new Map<string, LiveEntry | undefined>();
  readonly #isInTree: (path: string) => boolean;

  constructor({ files }: Manifest, isInTree: (path: string) => boolean) {
    this.#owned = files;
    this.#isInTree = isInTree;
  }

  get(path: string): LiveEntry | undefined {
    const entry = this.#entry(path);
    return entry && entry.kind !== 'file' && this.#isInTree(path) ? undefined : entry;
  }

  #entry(path: string): LiveEntry | undefined {
    const found = this.#found.get(path);
    if (found || this.#found.has(path)) return found;
    const record = this.#owned.get(path);
    return record && asRecorded(record);
  }

  note(path: string, entry: LiveEntry | undefined): void {
    // Entries that never existed needn't be noted: in a first sync, that is every file.
    if (entry || this.#owned.has(path)) this.#found.set(path, entry);
  }

  /** Checks whether the parent directory exists. */
  isReachable(path: string): boolean {
    const end = path.lastIndexOf('/');
    return end === -1 || this.#found.get(path.slice(0, end))?.kind === 'directory';
  }
}

interface UnreadFile {
  kind: 'unread';
  path: string;
  executable: boolean;
  mode: number | undefined;
  fingerprint: Fingerprint;
}

type ScannedEntry = LiveEntry | { kind: 'recorded' } | Omit<UnreadFile, 'path'> | undefined;

interface Expected {
  owned: OwnedFile | undefined;
  /** The desired mode, which is assumed on a volume that doesn't keep modes. */
  wanted: (Pick<DesiredFile, 'executable' | 'mode'> & { linkText?: string }) | undefined;
  keepsModes: VolumeTraits['keepsModes'];
}

function scanEntry(root: DataRoot, path: string, { owned, wanted, keepsModes }: Expected): ScannedEntry {
  const stats = root.look(path, statOf);
  if (!stats) return undefined;
  if (stats.isSymbolicLink()) {
    const isAgents = wanted?.linkText !== undefined || owned?.symlink === true;
    return isAgents ? scanLink(root, path, { owned, stats }) : { kind: 'link' };
  }
  if (stats.isDirectory()) return { kind: 'directory' };
  if (!stats.isFile()) return { kind: 'other' };
  const executable = keepsModes ? isExecutable(stats) : (wanted?.executable ?? false);
  const mode = keepsModes === true ? stats.mode & ALL_BITS : undefined;
  if (!owned || !provesUntouched(owned.fingerprint, stats)) {
    return { kind: 'unread', executable, mode, fingerprint: fingerprintOf(stats) };
  }
  const isRecorded =
    executable === owned.executable && wanted?.mode === owned.mode && hasRecordedMode(stats, owned, keepsModes);
  return isRecorded ? { kind: 'recorded' } : { ...asRecorded(owned), executable, mode };
}

/** Scans a link by its text. */
function scanLink(
  root: DataRoot,
  path: string,
  { owned, stats }: { owned: OwnedFile | undefined; stats: Stats },
): ScannedEntry {
  if (owned?.symlink && provesUntouched(owned.fingerprint, stats)) return { kind: 'recorded' };
  const text = root.look(path, (at) => unlessCode(['ENOENT', 'EINVAL'], () => readlinkSync(at)));
  if (text === undefined) return { kind: 'other' };
  const fingerprint = fingerprintOf(stats);
  return { kind: 'file', symlink: true, executable: false, fingerprint, sha256: linkHash(text), blob: undefined };
}

/** Returns the entry at a path of the agent as it was delivered. */
function recordedEntry(
  path: string,
  { owned, wanted, keepsModes }: Expected,
  directories: ReadonlySet<string>,
): ScannedEntry {
  if (!owned) return directories.has(path) ? { kind: 'directory' } : undefined;
  const executable = keepsModes ? owned.executable : (wanted?.executable ?? false);
  if (executable === owned.executable && wanted?.mode === owned.mode) return { kind: 'recorded' };
  const mode = keepsModes === true ? modeOf(owned, owned.groupWrite ?? false) : undefined;
  return { ...asRecorded(owned), executable, mode };
}

function asRecorded(record: OwnedFile): LiveFile {
  const { inputs, patches, lfs, symlink, blob, executable, mode, fingerprint, sha256 } = record;
  const isOther = inputs || patches || symlink || lfs !== undefined;
  return { kind: 'file', symlink, executable, mode, fingerprint, sha256, blob: isOther ? undefined : blob };
}

const ofOtherSize = (file: UnreadFile): LiveEntry => ({ ...file, kind: 'file', ...UNREAD });

/** Checks whether the size alone proves that the file differs from the delivered one, which is still desired. */
function isOtherSize({ path, fingerprint }: UnreadFile, { desired, manifest }: Omit<ScanInput, 'algorithm'>): boolean {
  const record = manifest.files.get(path);
  if (!record || record.found || record.inputs || record.patches || record.symlink) return false;
  return desired.files.get(path)?.blob === record.blob && record.fingerprint.size !== fingerprint.size;
}

/**
 * Reads a file. Links on the way aren't followed, even if they appeared later. A file that the agent can't read differs
 * from all others.
 */
async function readLive(
  file: UnreadFile,
  { algorithm, signal, directories }: Pick<ScanInput, 'algorithm' | 'signal'> & { directories: HeldDirectory },
): Promise<LiveEntry | undefined> {
  const name = file.path.lastIndexOf('/') + 1;
  const parent = file.path.slice(0, Math.max(0, name - 1));
  let descriptor: number | undefined;
  try {
    descriptor = unlessAbsent(() => openFile(directories.at(parent).at(file.path.slice(name))));
  } catch (error) {
    if (!isForbidden(error)) throw error;
    return { ...file, kind: 'file', ...UNREAD };
  }
  if (descriptor === undefined) return undefined;
  const hashes = await hashOpen(descriptor, algorithm, signal);
  return hashes ? { ...file, kind: 'file', ...hashes } : { kind: 'other' };
}

/**
 * Lists everything in a directory, at any depth, up to the first entry that isn't the agent's, which usually suffices,
 * or more of them. Directories of others aren't opened.
 */
export async function listBelow(
  root: DataRoot,
  directory: string,
  { isOwn, maxForeign = 1 }: { isOwn: (path: string) => boolean; maxForeign?: number },
): Promise<string[]> {
  const pacer = new Pacer();
  let foreign = 0;
  const found: string[] = [];
  const directories = [directory];
  for (let next = directories.pop(); next !== undefined; next = directories.pop()) {
    const handle = unlessAbsent(() => {
      using opened = root.openDirectory(root.pathOnDisk(next));
      return opendirSync(opened.at('.'));
    });
    if (!handle) continue;
    try {
      for (let entry = handle.readSync(); entry; entry = handle.readSync()) {
        const path = joinPath(next, entry.name);
        found.push(path);
        if (!isOwn(path)) foreign += 1;
        else if (entry.isDirectory()) directories.push(path);
        if (foreign === maxForeign) return found;
      }
    } finally {
      handle.closeSync();
    }
    if (pacer.isDue) await pacer.rest();
  }
  return found;
}

/** Checks by fingerprints whether every file and directory is as in the manifest; follows no links. */
export async function isUntouched(root: DataRoot, { applied, files, directories, trees }: Manifest): Promise<boolean> {
  root.checkPlace();
  for (const [path, { tree }] of trees) if (linkedTree(root, path) !== tree) return false;
  const { keepsModes } = root.traitsBy({ applied });
  const pacer = new Pacer();
  for (const directory of new Set([...allDirectories(files.keys()), ...directories])) {
    if (!root.look(directory, statOf)?.isDirectory()) return false;
    if (pacer.isDue) await pacer.rest();
  }
  for (const record of files.values()) {
    const stats = root.look(record.path, statOf);
    if (!stats || !isSameKind(stats, record) || !provesUntouched(record.fingerprint, stats)) return false;
    if (!hasRecordedMode(stats, record, keepsModes)) return false;
    if (pacer.isDue) await pacer.rest();
  }
  return true;
}

/** Checks whether an entry is a file or a link, as the agent delivered it. */
export const isSameKind = (stats: Stats, { symlink }: Pick<OwnedFile, 'symlink'>): boolean =>
  symlink ? stats.isSymbolicLink() : stats.isFile();

/** Permission bits, setuid, setgid, and sticky. */
const ALL_BITS = 0o7777;

/** Checks whether a file has the mode in its record, as far as the volume keeps modes. */
export function hasRecordedMode(
  stats: Stats,
  { executable, mode, symlink }: Pick<OwnedFile, 'executable' | 'mode' | 'symlink'>,
  keepsModes: VolumeTraits['keepsModes'],
): boolean {
  if (!keepsModes || symlink) return true;
  if (keepsModes === true && mode !== undefined) return (stats.mode & ALL_BITS) === mode;
  return isExecutable(stats) === executable;
}

/** Checks the owner's execute permission, the only mode bit that git records. */
function isExecutable({ mode }: Stats): boolean {
  return (mode & 0o100) !== 0;
}
