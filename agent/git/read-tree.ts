import { isUtf8 } from 'node:buffer';
import { isWithin } from '../../shared/domain/files/relative-path.ts';
import type { Git } from '../../shared/io/git/git.ts';
import { attributesFilesAbove, isAttributesFile } from '../plan/content-attributes.ts';
import { directoriesOf } from '../plan/directories.ts';
import type { OnEntry } from '../plan/memory-budget.ts';
import type { TreeChange, TreeEntry } from '../plan/plan-input.ts';
import { otherKind } from './find-fault.ts';
import { recordsFrom } from './git-stream.ts';

export interface TreeRequest {
  gitDir: string;
  commit: string;
  /** Paths to list with everything below; `''` for the whole tree. */
  sources: string[];
  /** Whether to list the `.gitattributes` of the directories above the sources that exist as well. */
  withAttributes?: boolean;
  signal?: AbortSignal | undefined;
}

const kinds: Record<string, TreeEntry['kind'] | undefined> = {
  '100644': 'file',
  '100664': 'file',
  '100755': 'file',
  '120000': 'link',
  '160000': 'submodule',
};
const DIRECTORY = '040000';

/**
 * Lists the files of a commit below the sources with git ls-tree(1), and calls `onEntry` with each file and directory,
 * and with each further path that it queries. It throws to stop git, because a commit of a few objects can list more of
 * them than fit into any memory. If a source is missing because of a link or submodule on the way to it, that is listed
 * as well.
 */
export async function listTree(git: Git, request: TreeRequest, onEntry: OnEntry): Promise<TreeEntry[]> {
  const isWhole = request.sources.includes('');
  const paths = isWhole ? [] : outermost(request.sources);
  const search = new PathSearch(paths);
  const onFound: OnEntry = (path, kind) => {
    onEntry(path, kind);
    search.take(path);
  };
  // Includes directories, because git can traverse any number of them without finding a file.
  const entries = await list(git, { ...request, args: ['-r', '-t'], paths: isWhole ? 'all' : paths }, onFound);
  for (const path of morePaths(request, search)) onEntry(path, 'directory');
  const others = await list(git, { ...request, args: [], paths: morePaths(request, search) }, onEntry);
  return [...entries, ...others.filter(({ kind, path }) => kind !== 'file' || isAttributesFile(path))];
}

/** Returns the paths at which links, submodules, and attributes files can be: one by one, because they can be long. */
function* morePaths({ withAttributes }: TreeRequest, search: PathSearch): Generator<string> {
  yield* search.absent().sort();
  if (!withAttributes || search.found.size === 0) return;
  for (const path of attributesFilesAbove([...search.found])) {
    if (!search.found.has(path)) yield path;
  }
}

/** Returns the paths that aren't at or below another one, sorted. */
function outermost(paths: string[]): string[] {
  const kept: string[] = [];
  let prefixes: string[] = [];
  for (const path of paths.toSorted()) {
    prefixes = prefixes.filter((prefix) => path.startsWith(prefix));
    if (prefixes.some((prefix) => isWithin(path, prefix))) continue;
    prefixes.push(path);
    kept.push(path);
  }
  return kept;
}

/** Finds the first directory on the way to each path that a commit doesn't contain. */
class PathSearch {
  readonly found = new Set<string>();
  /** The paths by the first place on the way to them that hasn't been found yet. */
  readonly #pending = new Map<string, string[]>();

  constructor(paths: string[]) {
    for (const path of paths) this.#await(path, 0);
  }

  /** Takes an entry. git lists a directory before its entries. */
  take(place: string): void {
    const paths = this.#pending.get(place) ?? [];
    this.#pending.delete(place);
    for (const path of paths) {
      if (path === place) this.found.add(path);
      else this.#await(path, place.length + 1);
    }
  }

  /** Returns the places above the paths that weren't found. */
  absent(): string[] {
    return [...this.#pending].flatMap(([place, paths]) => (paths.includes(place) ? [] : [place]));
  }

  #await(path: string, from: number): void {
    const end = path.indexOf('/', from);
    const place = end === -1 ? path : path.slice(0, end);
    const paths = this.#pending.get(place);
    if (paths) paths.push(path);
    else this.#pending.set(place, [path]);
  }
}

/** Lists links and submodules at the paths of the directories above the sources. */
export async function listAbove(git: Git, request: TreeRequest, onEntry: OnEntry): Promise<TreeEntry[]> {
  const paths = [...new Set(request.sources.flatMap(directoriesOf))].sort();
  const found = await list(git, { ...request, args: [], paths }, onEntry);
  return found.filter(({ kind }) => kind !== 'file');
}

/** Checks whether a commit has at most this number of files and directories, and stops counting if it has more. */
export async function hasFewEntries(
  git: Git,
  { gitDir, commit, signal }: Omit<TreeRequest, 'sources'>,
  limit: number,
): Promise<boolean> {
  const command = ['ls-tree', '-z', '-r', '-t', '--name-only', '--full-tree', commit];
  let entries = 0;
  for await (const records of recordsFrom(git, gitDir, command, signal)) {
    entries += records.length;
    if (entries > limit) return false;
  }
  return true;
}

interface Listed extends TreeRequest {
  args: string[];
  /** Sorted, so that few batches have paths in the same directory. */
  paths: Iterable<string> | 'all';
}

/**
 * Maximum number of paths for one git, which compares each with every entry of the directories above them, and their
 * maximum length (UTF-16 characters): Linux limits the size of all arguments.
 */
const MAX_ARGUMENTS = { paths: 1_000, length: 256 * 1024 };

async function list(git: Git, { gitDir, commit, signal, args, paths }: Listed, onEntry: OnEntry): Promise<TreeEntry[]> {
  // Without --format, which quotes some paths. The target of a tag can be a bare tree.
  const command = ['ls-tree', '-z', '--full-tree', ...args, `${commit}^{commit}`, '--'];
  const entries: TreeEntry[] = [];
  for (const batch of paths === 'all' ? [[]] : batchesOf(paths)) {
    for await (const records of recordsFrom(git, gitDir, [...command, ...batch], signal)) {
      for (const record of records) {
        const { mode, object, name } = parseRecord(record);
        onEntry(name.toString('utf8'), mode === DIRECTORY ? 'directory' : 'file');
        if (mode !== DIRECTORY) entries.push(entryOf(name, mode, object));
      }
    }
  }
  return entries;
}

function* batchesOf(paths: Iterable<string>): Generator<string[]> {
  let batch: string[] = [];
  let length = 0;
  for (const path of paths) {
    length += path.length + 1;
    if (batch.length === MAX_ARGUMENTS.paths || (batch.length > 0 && length > MAX_ARGUMENTS.length)) {
      yield batch;
      batch = [];
      length = path.length + 1;
    }
    batch.push(path);
  }
  if (batch.length > 0) yield batch;
}

const TAB = 0x09;
const SPACE = 0x20;

/** `<mode> SP <type> SP <object> TAB <path>`. */
function parseRecord(record: Buffer): { mode: string; object: string; name: Buffer } {
  const tab = record.indexOf(TAB);
  const object = record.toString('latin1', record.lastIndexOf(SPACE, tab) + 1, tab);
  return { mode: record.toString('latin1', 0, DIRECTORY.length), object, name: record.subarray(tab + 1) };
}

/** Replacement for bytes that aren't UTF-8. */
const REPLACEMENT = '\uFFFD';

/** Returns an entry from git's record. */
function entryOf(name: Buffer, mode: string, blob: string | undefined): TreeEntry {
  const kind = kinds[mode];
  if (!kind || !blob) throw otherKind(`the commit has an entry of mode ${mode}`);
  const path = name.toString('utf8');
  const isReadable = !path.includes(REPLACEMENT) || isUtf8(name);
  // If it is excluded or not mapped, its name doesn't matter.
  return { path, kind: isReadable ? kind : 'unreadable', blob, executable: mode === '100755' };
}

export interface TreePair {
  gitDir: string;
  /** Commits. */
  from: string;
  to: string;
  /** Paths to compare with everything below; `''` for the whole tree. */
  sources: string[];
  signal?: AbortSignal | undefined;
}

/** `:<mode> SP <mode> SP <object> SP <object> SP <status>`, each before and after, then the path. */
const header = /^:(\d{6}) (\d{6}) ([0-9a-f]+) ([0-9a-f]+) [A-Z]$/;

/** Larger numbers of differences, or longer paths, aren't worth distinguishing or keeping in memory. */
const MAX_CHANGES = 10_000;
const MAX_CHANGES_BYTES = 4 * 1024 * 1024;

/**
 * Lists the files that differ between two commits with git diff-tree(1); undefined if one of the commits is missing, or
 * nearly everything differs.
 */
export async function diffTrees(
  git: Git,
  { gitDir, from, to, sources, signal }: TreePair,
): Promise<TreeChange[] | undefined> {
  const paths = sources.includes('') ? [] : sources;
  // Includes directories, because git can traverse any number of them without finding a file.
  const commits = [from, to].map((commit) => `${commit}^{commit}`);
  const args = ['diff-tree', '-r', '-t', '-z', '--raw', '--no-renames', '--no-abbrev', ...commits, '--', ...paths];
  const changes: TreeChange[] = [];
  let sides: RegExpExecArray | null = null;
  let seen = 0;
  let bytes = 0;
  try {
    for await (const records of recordsFrom(git, gitDir, args, signal)) {
      for (const record of records) {
        bytes += record.length;
        if (!sides) sides = header.exec(record.toString('latin1'));
        else {
          changes.push(...changesOf(record, sides));
          sides = null;
          seen += 1;
        }
      }
      if (seen > MAX_CHANGES || bytes > MAX_CHANGES_BYTES) return undefined;
    }
    return changes;
  } catch {
    signal?.throwIfAborted();
    return undefined;
  }
}

/** Directories are skipped: the changes in them are listed separately. */
function changesOf(name: Buffer, sides: RegExpExecArray): TreeChange[] {
  const [, oldMode = '', newMode = '', oldBlob = '', newBlob = ''] = sides;
  const before = sideOf(name, oldMode, oldBlob);
  const after = sideOf(name, newMode, newBlob);
  return before || after ? [{ path: name.toString('utf8'), before, after }] : [];
}

function sideOf(name: Buffer, mode: string, blob: string): TreeEntry | undefined {
  return mode === '000000' || mode === '040000' ? undefined : entryOf(name, mode, blob);
}
