import { isUtf8 } from 'node:buffer';
import type { Readable } from 'node:stream';
import { foldersOf } from '../../shared/domain/relative-path.ts';
import type { Git } from '../../shared/io/git/git.ts';
import type { TreeChange, TreeEntry } from '../plan/plan-input.ts';
import { DamagedCloneError, type GitStream, recordsOf, startGitStream } from './git-stream.ts';

export interface TreeRequest {
  gitDir: string;
  commit: string;
  /** Paths to list with everything below; `''` is the whole tree. */
  sources: string[];
  signal?: AbortSignal | undefined;
}

const kinds: Record<string, TreeEntry['kind'] | undefined> = {
  '100644': 'file',
  '100664': 'file',
  '100755': 'file',
  '120000': 'link',
  '160000': 'submodule',
};
const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });

/**
 * Lists the files of a commit below the sources, by git ls-tree(1). Where a source is not there, links and submodules
 * on the way to it are listed too: they may be the reason.
 */
export async function readTree(git: Git, { gitDir, commit, sources, signal }: TreeRequest): Promise<TreeEntry[]> {
  const list = (args: string[]) => listEntries(startGitStream(git, gitDir, ['ls-tree', '-z', ...args], signal));
  const paths = sources.includes('') ? [] : sources;
  const entries = await list(['-r', '--full-tree', commit, '--', ...paths]);
  const missing = paths.filter(
    (path) => !entries.some((entry) => entry.path === path || entry.path.startsWith(`${path}/`)),
  );
  const above = [...new Set(missing.flatMap(foldersOf))];
  if (above.length === 0) return entries;
  const obstacles = await list(['--full-tree', commit, '--', ...above]);
  return [...entries, ...obstacles.filter(({ kind }) => kind !== 'file')];
}

async function listEntries(stream: GitStream): Promise<TreeEntry[]> {
  stream.child.stdin?.end();
  const entries: TreeEntry[] = [];
  for await (const records of recordsOf(stream.output)) {
    for (const record of records) {
      const entry = parseRecord(record);
      if (entry) entries.push(entry);
    }
  }
  await stream.finish();
  return entries;
}

/** `<mode> SP <type> SP <object> TAB <path>`; folders are left out. */
function parseRecord(record: Buffer): TreeEntry | undefined {
  const tab = record.indexOf(9);
  const fields = record.toString('latin1', 0, tab);
  if (fields.startsWith('tree', 7)) return undefined;
  return entryOf(record.subarray(tab + 1), fields.slice(0, 6), fields.slice(fields.lastIndexOf(' ') + 1));
}

/** An entry by what git says of it. */
function entryOf(name: Buffer, mode: string, blob: string | undefined): TreeEntry {
  const kind = kinds[mode];
  if (!kind || !blob) throw new DamagedCloneError(`an entry of mode ${mode} in the tree`);
  const path = utf8.decode(name);
  // Where it is excluded, or not mapped, its name does not matter.
  return { path, kind: isUtf8(name) ? kind : 'unreadable', blob, executable: mode === '100755' };
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
  const args = ['diff-tree', '-r', '-t', '-z', '--raw', '--no-renames', '--no-abbrev', from, to, '--', ...paths];
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
  return was || is ? [{ path: utf8.decode(name), before: was, after: is }] : [];
}

function sideOf(name: Buffer, mode: string, blob: string): TreeEntry | undefined {
  return mode === '000000' || mode === '040000' ? undefined : entryOf(name, mode, blob);
}
