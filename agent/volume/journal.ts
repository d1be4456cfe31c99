import { createHash, randomUUID } from 'node:crypto';
import { closeSync, constants, fstatSync, fsync, lstatSync, openSync, writeSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import * as v from 'valibot';
import { isAgentPath, isFilePath } from '../../shared/domain/relative-path.ts';
import { Pacer } from '../../shared/io/pacer.ts';
import { type DataRoot, unlessAbsent } from './data-root.ts';
import type { Move, Seen } from './move.ts';
import { readLines } from './read-lines.ts';

const NAME = 'journal.jsonl';
/** Characters of text that are written at once, more or less. */
const CHUNK = 64 * 1024;

const flush = promisify(fsync);

const ownPath = v.pipe(
  v.string(),
  v.check((path) => isFilePath(path) && !isAgentPath(path)),
);
const keptName = v.pipe(v.string(), v.regex(/^[\w-][\w.-]{0,199}$/));
/** Size, time, inode, and hash of the content. */
const seenFile = v.pipe(
  v.tuple([v.number(), v.number(), v.number(), v.string()]),
  v.transform(([size, mtimeMs, ino, sha256]) => ({ size, mtimeMs, ino, sha256 })),
);
const moveLine = v.union([
  v.pipe(
    v.object({
      path: ownPath,
      number: v.pipe(v.number(), v.safeInteger(), v.minValue(0)),
      leaves: v.exactOptional(v.union([seenFile, v.literal('other')])),
      comes: v.exactOptional(seenFile),
      displacedTo: v.exactOptional(keptName),
      comesFrom: v.exactOptional(keptName),
    }),
    v.transform((line): Move => ({ kind: 'file', ...line })),
  ),
  v.pipe(
    v.object({ makeFolder: ownPath }),
    v.transform((line): Move => ({ kind: 'makeFolder', path: line.makeFolder })),
  ),
  v.pipe(
    v.object({ removeFolder: ownPath, mode: v.number() }),
    v.transform((line): Move => ({ kind: 'removeFolder', path: line.removeFolder, mode: line.mode })),
  ),
]);
const headerLine = v.object({ journal: v.string(), ino: v.number() });
const endLine = v.object({ check: v.string() });

/** Checks whether a sync has begun to move files and hasn't ended. Any entry of that name counts, and is then removed. */
export const hasJournal = ({ agentFolder }: DataRoot): boolean =>
  unlessAbsent(() => lstatSync(join(agentFolder, NAME))) !== undefined;

/**
 * Writes what a sync is about to move, in the order in which that is undone, and flushes it. Returns the journal's id,
 * which the manifest names once all has moved.
 */
export async function writeJournal(moves: readonly Move[], root: DataRoot): Promise<string> {
  const folder = root.openAgentFolder('');
  const descriptor = openSync(folder.at(NAME), 'wx', 0o600);
  try {
    const id = randomUUID();
    const pacer = new Pacer();
    for (const text of textOf(moves, { id, ino: fstatSync(descriptor).ino })) {
      const bytes = Buffer.from(text);
      for (let from = 0; from < bytes.length; ) from += writeSync(descriptor, bytes, from);
      if (pacer.isDue) await pacer.rest();
    }
    await flush(descriptor);
    folder.flush();
    return id;
  } finally {
    closeSync(descriptor);
    folder.close();
  }
}

/** Ends a sync: nothing of it is to be undone, or all of it is. */
export function removeJournal(root: DataRoot): void {
  const folder = root.openAgentFolder('');
  try {
    folder.makeRoom(NAME);
  } finally {
    folder.close();
  }
}

function* textOf(moves: readonly Move[], { id, ino }: { id: string; ino: number }): Generator<string> {
  const hash = createHash('sha256');
  let text = `${JSON.stringify({ journal: id, ino })}\n`;
  for (let index = moves.length - 1; index >= 0; index -= 1) {
    const move = moves[index];
    if (move) text += `${JSON.stringify(lineOf(move))}\n`;
    if (text.length < CHUNK) continue;
    hash.update(text);
    yield text;
    text = '';
  }
  hash.update(text);
  yield `${text}${JSON.stringify({ check: hash.digest('hex') })}\n`;
}

function lineOf(move: Move): object {
  if (move.kind === 'makeFolder') return { makeFolder: move.path };
  if (move.kind === 'removeFolder') return { removeFolder: move.path, mode: move.mode };
  const { path, number, leaves, comes, displacedTo, comesFrom } = move;
  return { path, number, leaves: seenOf(leaves), comes: seenOf(comes), displacedTo, comesFrom };
}

const seenOf = (seen: Seen | undefined) =>
  typeof seen === 'object' ? [seen.size, seen.mtimeMs, seen.ino, seen.sha256] : seen;

/** The journal of a sync that was cut off, read as a stream: it may be larger than memory. */
export class Journal {
  readonly id: string;
  /** True if the volume gives files the inodes that they had when the journal was written. */
  readonly hasSameInodes: boolean;
  readonly #handle: FileHandle;

  private constructor(handle: FileHandle, header: v.InferOutput<typeof headerLine>, ino: number) {
    this.id = header.journal;
    this.hasSameInodes = header.ino === ino;
    this.#handle = handle;
  }

  /**
   * Opens the journal. Returns undefined if there is none, or if it isn't whole: then nothing has moved, because the first
   * move comes after it was flushed.
   */
  static async open(root: DataRoot): Promise<Journal | undefined> {
    const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
    const handle = await open(join(root.agentFolder, NAME), O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch((error) => {
      if (ABSENT.has(error.code)) return undefined;
      throw error;
    });
    try {
      const stats = await handle?.stat();
      const header = handle && stats?.isFile() ? await readWhole(handle) : undefined;
      if (handle && stats && header) return new Journal(handle, header, stats.ino);
    } catch (error) {
      await handle?.close();
      throw error;
    }
    await handle?.close();
    return undefined;
  }

  /** Reads the moves, the last one first. */
  async *moves(): AsyncGenerator<Move> {
    for await (const line of readLines(streamOf(this.#handle))) {
      const parsed = v.safeParse(moveLine, parseJson(line), { abortEarly: true });
      if (parsed.success) yield parsed.output;
    }
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }
}

/** A link, a pipe or a directory in its place is no journal. */
const ABSENT = new Set(['ENOENT', 'ELOOP', 'ENXIO', 'EISDIR', 'ENOTDIR']);

/** Returns the header if the end fits what comes before it. */
async function readWhole(handle: FileHandle): Promise<v.InferOutput<typeof headerLine> | undefined> {
  const hash = createHash('sha256');
  let header: v.InferOutput<typeof headerLine> | undefined;
  let before: Buffer | undefined;
  for await (const line of readLines(streamOf(handle))) {
    if (before) hash.update(before);
    else header = parse(headerLine, line);
    if (!header) return undefined;
    before = line;
  }
  return before && parse(endLine, before)?.check === hash.digest('hex') ? header : undefined;
}

const streamOf = (handle: FileHandle) => handle.createReadStream({ autoClose: false, start: 0, highWaterMark: CHUNK });

function parse<T>(schema: v.GenericSchema<unknown, T>, line: Buffer): T | undefined {
  const parsed = v.safeParse(schema, parseJson(line), { abortEarly: true });
  return parsed.success ? parsed.output : undefined;
}

function parseJson(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString('utf8'));
  } catch {
    return undefined;
  }
}
