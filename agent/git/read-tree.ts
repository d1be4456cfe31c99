import { isUtf8 } from 'node:buffer';
import type { Readable } from 'node:stream';
import { foldersOf } from '../../shared/domain/relative-path.ts';
import type { Git } from '../../shared/io/git/git.ts';
import { attributesFilesAbove } from '../plan/content-attributes.ts';
import type { TreeChange, TreeEntry } from '../plan/plan-input.ts';
import { MODE_BYTES, TreeCounter, type TreeRequest, type TreeSize } from './count-tree.ts';
import { otherKind } from './find-fault.ts';
import { recordsOf, startGitStream } from './git-stream.ts';

const kinds: Record<string, TreeEntry['kind'] | undefined> = {
  '100644': 'file',
  '100664': 'file',
  '100755': 'file',
  '120000': 'link',
  '160000': 'submodule',
};

/** How much of a commit is listed. */
export interface TreeBounds {
  /** Whether there is memory for a listing of that size. */
  fits: (size: TreeSize) => boolean;
  /** Whether the rest of what does not fit does not have to be counted. */
  isEnough: (size: TreeSize) => boolean;
}

export type TreeListing =
  | { kind: 'listed'; entries: TreeEntry[]; size: TreeSize }
  /** It does not fit. */
  | { kind: 'counted'; size: TreeSize };

/**
 * Lists the files of a commit below the sources, by git ls-tree(1), and counts them as they come: a commit of a few
 * objects can list more files than there are bytes in the world. What does not fit is counted on until it is enough.
 * Where a source is not there, links and submodules on the way to it are listed too: they may be the reason.
 */
export async function listTree(git: Git, request: TreeRequest, bounds: TreeBounds): Promise<TreeListing> {
  const paths = request.sources.includes('') ? [] : request.sources;
  // Folders count, too: git may go through any number of them and find no file.
  const more = request.withAttributes && paths.length > 0 ? attributesFilesAbove(paths) : [];
  const listing = await list(git, { ...request, args: ['-r', '-t'], paths: [...paths, ...more] }, bounds);
  if (listing.kind === 'counted') return listing;
  const { entries, size } = listing;
  const missing = paths.filter(
    (path) => !entries.some((entry) => entry.path === path || entry.path.startsWith(`${path}/`)),
  );
  const above = [...new Set(missing.flatMap(foldersOf))];
  if (above.length === 0) return listing;
  const found = await list(git, { ...request, args: [], paths: above }, UNBOUNDED);
  const obstacles = found.kind === 'listed' ? found.entries.filter(({ kind }) => kind !== 'file') : [];
  return { kind: 'listed', entries: [...entries, ...obstacles], size };
}

const UNBOUNDED: TreeBounds = { fits: () => true, isEnough: () => false };

/** The same for what is known to be little. */
export async function readTree(git: Git, request: TreeRequest): Promise<TreeEntry[]> {
  const listing = await listTree(git, request, UNBOUNDED);
  return listing.kind === 'listed' ? listing.entries : [];
}

interface Listed extends Omit<TreeRequest, 'sources'> {
  args: string[];
  paths: string[];
}

async function list(
  git: Git,
  { gitDir, commit, signal, args, paths }: Listed,
  { fits, isEnough }: TreeBounds,
): Promise<TreeListing> {
  // Without --format, by which git puts some paths in quotes. What a tag names may be a bare tree.
  const command = ['ls-tree', '-z', '--full-tree', ...args, `${commit}^{commit}`, '--', ...paths];
  const stream = startGitStream(git, gitDir, command, signal);
  stream.child.stdin?.end();
  const counter = new TreeCounter('100644 blob '.length + commit.length + 1);
  const { size } = counter;
  let entries: TreeEntry[] | undefined = [];
  for await (const data of stream.output) {
    const kept: TreeEntry[] | undefined = entries;
    counter.take(data as Buffer, kept && ((record) => kept.push(parseRecord(record))));
    if (!fits(size)) entries = undefined;
    if (!isEnough(size)) continue;
    stream.kill();
    return { kind: 'counted', size };
  }
  await stream.finish();
  size.isComplete = true;
  return entries ? { kind: 'listed', entries, size } : { kind: 'counted', size };
}

const TAB = 0x09;
const SPACE = 0x20;

/** `<mode> SP <type> SP <object> TAB <path>`. */
function parseRecord(record: Buffer): TreeEntry {
  const tab = record.indexOf(TAB);
  const mode = record.toString('latin1', 0, MODE_BYTES);
  return entryOf(record.subarray(tab + 1), mode, record.toString('latin1', record.lastIndexOf(SPACE, tab) + 1, tab));
}

/** What stands for bytes that are no UTF-8. */
const REPLACEMENT = '\uFFFD';

/** An entry by what git says of it. */
function entryOf(name: Buffer, mode: string, blob: string | undefined): TreeEntry {
  const kind = kinds[mode];
  if (!kind || !blob) throw otherKind(`the commit has an entry of mode ${mode}`);
  const path = name.toString('utf8');
  const isReadable = !path.includes(REPLACEMENT) || isUtf8(name);
  // Where it is excluded, or not mapped, its name does not matter.
  return { path, kind: isReadable ? kind : 'unreadable', blob, executable: mode === '100755' };
}

export interface TreePair {
  gitDir: string;
  /** Commits. */
  from: string;
  to: string;
  /** Paths to compare with everything below; `''` is the whole tree. */
  sources: string[];
  signal?: AbortSignal | undefined;
}

/** `:<mode> SP <mode> SP <object> SP <object> SP <status>`, each time before and after, then the path. */
const header = /^:(\d{6}) (\d{6}) ([0-9a-f]+) ([0-9a-f]+) [A-Z]$/;

/** More differences than these, or with longer paths, are not worth telling apart, nor keeping in memory. */
const MAX_CHANGES = 10_000;
const MAX_CHANGES_BYTES = 4 * 1024 * 1024;

/**
 * Lists the files that differ between two commits, by git diff-tree(1); undefined where one of them is not there, or
 * where nearly everything differs.
 */
export async function diffTrees(
  git: Git,
  { gitDir, from, to, sources, signal }: TreePair,
): Promise<TreeChange[] | undefined> {
  const paths = sources.includes('') ? [] : sources;
  // Folders count, too: git may go through any number of them and find no file.
  const commits = [from, to].map((commit) => `${commit}^{commit}`);
  const args = ['diff-tree', '-r', '-t', '-z', '--raw', '--no-renames', '--no-abbrev', ...commits, '--', ...paths];
  const stream = startGitStream(git, gitDir, args, signal);
  stream.child.stdin?.end();
  const changes: TreeChange[] = [];
  let sides: RegExpExecArray | null = null;
  let seen = 0;
  const listing = new Listing(stream.output, MAX_CHANGES_BYTES);
  for await (const records of recordsOf(listing.pieces())) {
    for (const record of records) {
      if (!sides) sides = header.exec(record.toString('latin1'));
      else {
        changes.push(...changesOf(record, sides));
        sides = null;
        seen += 1;
      }
    }
    if (seen > MAX_CHANGES) break;
  }
  if (seen > MAX_CHANGES || listing.isCutOff) {
    stream.kill();
    return undefined;
  }
  return await stream.finish().then(
    () => changes,
    () => {
      signal?.throwIfAborted();
      return undefined;
    },
  );
}

/** What git says, up to so many bytes. */
class Listing {
  /** Whether there was more. */
  isCutOff = false;
  readonly #output: Readable;
  readonly #maxBytes: number;

  constructor(output: Readable, maxBytes: number) {
    this.#output = output;
    this.#maxBytes = maxBytes;
  }

  async *pieces(): AsyncGenerator<Buffer> {
    let bytes = 0;
    for await (const piece of this.#output) {
      bytes += (piece as Buffer).length;
      this.isCutOff = bytes > this.#maxBytes;
      if (this.isCutOff) return;
      yield piece as Buffer;
    }
  }
}

/** A folder counts as nothing: what changes in it is listed by itself. */
function changesOf(
  name: Buffer,
  [, before = '', after = '', oldBlob = '', newBlob = '']: RegExpExecArray,
): TreeChange[] {
  const [was, is] = [sideOf(name, before, oldBlob), sideOf(name, after, newBlob)];
  return was || is ? [{ path: name.toString('utf8'), before: was, after: is }] : [];
}

function sideOf(name: Buffer, mode: string, blob: string): TreeEntry | undefined {
  return mode === '000000' || mode === '040000' ? undefined : entryOf(name, mode, blob);
}
