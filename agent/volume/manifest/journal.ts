import { createHash, randomUUID } from 'node:crypto';
import { fstatSync, fsync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { promisify } from 'node:util';
import * as v from 'valibot';
import { isFilePath } from '../../../shared/domain/files/relative-path.ts';
import { OpenFile } from '../../disk/open-file.ts';
import { READ_FLAGS } from '../../disk/read-text.ts';
import { type DataRoot, unlessAbsent } from '../state/data-root.ts';
import { JOURNAL } from '../state/protect-directory.ts';
import { checkOf, ownPath, parseLine, readLines, seenFileLine, treeName, writeChecked } from './checked-lines.ts';
import type { Move } from './move.ts';

/** Bytes per read. */
const PIECE = 64 * 1024;

const flush = promisify(fsync);

/** A path in `taken-over`. */
const filePath = v.pipe(v.string(), v.check(isFilePath));

const moveLine = v.variant('kind', [
  v.object({
    kind: v.literal('file'),
    path: ownPath,
    number: v.pipe(v.number(), v.safeInteger(), v.minValue(0)),
    oldEntry: v.exactOptional(v.union([seenFileLine, v.literal('other')])),
    newFile: v.exactOptional(seenFileLine),
    isForeign: v.exactOptional(v.literal(true)),
  }),
  v.object({
    kind: v.literal('publish'),
    path: ownPath,
    to: v.picklist(['link', 'directory', 'nothing']),
    tree: v.exactOptional(treeName),
    from: v.picklist(['absent', 'link', 'directory']),
    leaves: v.exactOptional(treeName),
    displacedTo: v.exactOptional(filePath),
  }),
  v.object({ kind: v.literal('makeFolder'), path: ownPath }),
  v.object({
    kind: v.literal('removeFolder'),
    path: ownPath,
    mode: v.pipe(v.number(), v.safeInteger(), v.minValue(0), v.maxValue(0o7777)),
  }),
]);
const headerLine = v.object({ journal: v.string(), ino: v.number() });
const endLine = v.object({ check: v.string() });

/** Checks whether a sync that moves files hasn't ended. Any entry of that name is accepted, and later removed. */
export const hasJournal = (root: DataRoot): boolean => root.hasOwn(JOURNAL);

/**
 * Writes and flushes the moves of a sync, in the order in which they are undone. Returns the journal's ID, which the
 * manifest records after all moves.
 */
export async function writeJournal(moves: readonly Move[], root: DataRoot): Promise<string> {
  using directory = root.openAgentDirectory('');
  using file = new OpenFile(directory.at(JOURNAL), 'wx', 0o600);
  const { descriptor } = file;
  const id = randomUUID();
  await writeChecked(descriptor, linesOf(moves, { journal: id, ino: fstatSync(descriptor).ino }));
  await flush(descriptor);
  directory.flush();
  return id;
}

/** Ends a sync after it was completed or undone. */
export function removeJournal(root: DataRoot): void {
  using directory = root.openAgentDirectory('');
  directory.makeRoom(JOURNAL);
}

function* linesOf(moves: readonly Move[], header: v.InferOutput<typeof headerLine>): Generator<object> {
  yield header;
  for (let index = moves.length - 1; index >= 0; index -= 1) yield moves[index] as Move;
}

/** The journal of an interrupted sync, read as a stream: it can be larger than memory. */
export class Journal implements AsyncDisposable {
  readonly id: string;
  /** Whether files still have the inodes that they had when the journal was written. */
  readonly hasSameInodes: boolean;
  readonly #handle: FileHandle;

  private constructor(handle: FileHandle, header: v.InferOutput<typeof headerLine>, ino: number) {
    this.id = header.journal;
    this.hasSameInodes = header.ino === ino;
    this.#handle = handle;
  }

  /**
   * Opens the journal. Returns undefined if there is none, or if it is incomplete: then nothing has moved, because the
   * first move happens after the journal was flushed.
   */
  static async open(root: DataRoot): Promise<Journal | undefined> {
    using directory = unlessAbsent(() => root.state.openExisting());
    if (!directory) return undefined;
    const handle = await open(directory.at(JOURNAL), READ_FLAGS).catch((error) => {
      if (ABSENT.has(error.code)) return undefined;
      throw error;
    });
    let journal: Journal | undefined;
    try {
      const stats = await handle?.stat();
      const header = handle && stats?.isFile() ? await readWhole(handle) : undefined;
      if (handle && stats && header) journal = new Journal(handle, header, stats.ino);
      return journal;
    } finally {
      if (!journal) await handle?.close();
    }
  }

  /** Reads the moves, the last one first. */
  async *moves(): AsyncGenerator<Move> {
    for await (const line of readLines(streamOf(this.#handle))) {
      const move = parseLine(moveLine, line);
      if (move) yield move;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle.close();
  }
}

/** Links, pipes, and directories in its place aren't journals. */
const ABSENT = new Set(['ENOENT', 'ELOOP', 'ENXIO', 'EISDIR', 'ENOTDIR']);

/** Returns the header if the checksum at the end is correct. */
async function readWhole(handle: FileHandle): Promise<v.InferOutput<typeof headerLine> | undefined> {
  const hash = createHash('sha256');
  let header: v.InferOutput<typeof headerLine> | undefined;
  let before: Buffer | undefined;
  for await (const line of readLines(streamOf(handle))) {
    if (before) hash.update(before);
    else header = parseLine(headerLine, line);
    if (!header) return undefined;
    before = line;
  }
  return before && parseLine(endLine, before)?.check === checkOf(hash) ? header : undefined;
}

const streamOf = (handle: FileHandle) => handle.createReadStream({ autoClose: false, start: 0, highWaterMark: PIECE });
