import {
  closeSync,
  constants,
  fdatasync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { promisify } from 'node:util';
import { getHeapStatistics } from 'node:v8';
import { codeOf, TerminalError } from '../../../shared/errors.ts';
import type { Logger } from '../../../shared/log.ts';
import type { Directory } from '../../disk/directory.ts';
import { OpenFile } from '../../disk/open-file.ts';
import { READ_FLAGS } from '../../disk/read-text.ts';
import {
  type Applied,
  emptyManifest,
  type Manifest,
  type ManifestUpdate,
  type MutableManifest,
  updateManifest,
} from '../../plan/manifest.ts';
import { NEW_OBJECTS_BYTES } from '../../plan/memory-budget.ts';
import { ownDirectoryError } from '../state/agent-directory.ts';
import type { DataRoot } from '../state/data-root.ts';
import { MANIFEST } from '../state/protect-directory.ts';
import { writeText } from './checked-lines.ts';
import { hasJournal } from './journal.ts';
import { countLines, manifestText, updateText } from './manifest-text.ts';
import { type ParsedManifest, parseManifest } from './parse-manifest.ts';

/** The file is rewritten if it exceeds the necessary number of lines by this share and number. */
const SPARE = { share: 0.25, lines: 1_000 };

interface Content {
  manifest: MutableManifest;
  /** Valid bytes of the file. */
  length: number;
  lines: number;
}

const flush = promisify(fdatasync);

/**
 * The manifest next to the data: a log to which each sync appends its changes, so that the cost is proportional to
 * them. An incomplete update is ignored. Each agent rewrites the file before it appends for the first time.
 */
export class ManifestFile {
  readonly #root: DataRoot;
  readonly #log: Logger;
  #content: Content | undefined;
  /** The file that this agent wrote. */
  #descriptor: number | undefined;

  constructor(root: DataRoot, log: Logger) {
    this.#root = root;
    this.#log = log;
  }

  /** A damaged manifest owns nothing; a newer agent's manifest stays unchanged and throws {@link TerminalError}. */
  async read(): Promise<Manifest> {
    return (await this.#open()).manifest;
  }

  /** Returns the release that is completely delivered; undefined during a sync, and until an aborted one is settled. */
  async readApplied(): Promise<Applied | undefined> {
    return hasJournal(this.#root) ? undefined : (await this.#open()).manifest.applied;
  }

  /** Reads the file again next time, because another agent might have written it. */
  forget(): void {
    this.#content = undefined;
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  /** Appends an update while the volume is held. On disk once this resolves; without effect if it throws. */
  async append(update: ManifestUpdate): Promise<void> {
    const content = await this.#open();
    const descriptor = this.#openEnd(content);
    const start = content.length;
    try {
      content.length += write(descriptor, updateText(update));
      await flush(descriptor);
    } catch (error) {
      content.length = start;
      tryTruncate(descriptor, start); // leftovers are ignored
      throw error;
    }
    updateManifest(content.manifest, update);
    this.#root.trees = content.manifest.trees;
    content.lines += countLines(update);
    if (content.lines <= (1 + SPARE.share) * neededLines(content.manifest) + SPARE.lines) return;
    try {
      this.#rewrite(content);
    } catch (err) {
      this.#log.warn({ err }, 'manifest not compacted');
    }
  }

  /** Flushes the file that was read, because the agent that wrote it might have been killed before. */
  flush(): void {
    using directory = this.#root.openAgentDirectory('');
    using file = new OpenFile(directory.at(MANIFEST), READ_FLAGS);
    fsyncSync(file.descriptor);
    directory.flush();
  }

  async #open(): Promise<Content> {
    if (this.#content) return this.#content;
    const content = await this.#load();
    this.#content ??= content;
    this.#root.trees = this.#content.manifest.trees;
    return this.#content;
  }

  async #load(): Promise<Content> {
    const none = { manifest: emptyManifest(), length: 0, lines: 0 };
    this.#root.checkPlace();
    const path = `${this.#root.state.path}/${MANIFEST}`;
    const found = await readFrom(this.#root, path);
    if (found === undefined) return none;
    const { size, parsed } = found;
    if (parsed.kind === 'manifest') {
      const { manifest, length, lines } = parsed;
      const ignored = size - length;
      if (ignored > 0) this.#log.warn({ path, ignored }, 'end of the manifest is truncated or damaged');
      return { manifest, length, lines };
    }
    if (parsed.kind === 'tooLarge') throw tooLarge(size, path);
    if (parsed.kind === 'damaged') {
      this.#log.warn({ path }, 'manifest is damaged: files of earlier syncs no longer have an owner');
      return none;
    }
    throw newerVersion(parsed.version);
  }

  /** Returns the file, positioned after its valid part. Rewrites it if this agent hasn't yet, or if it was changed. */
  #openEnd(content: Content): number {
    if (this.#descriptor !== undefined) {
      const { nlink, size } = fstatSync(this.#descriptor);
      if (nlink > 0 && size === content.length) return this.#descriptor;
    }
    return this.#rewrite(content);
  }

  #rewrite(content: Content): number {
    const { O_WRONLY, O_APPEND, O_CREAT, O_EXCL } = constants;
    using directory = this.#root.openAgentDirectory('');
    using staging = this.#root.openAgentDirectory('staging');
    const temporary = staging.at(MANIFEST);
    let descriptor: number | undefined;
    try {
      rmSync(temporary, { force: true });
      descriptor = openSync(temporary, O_WRONLY | O_APPEND | O_CREAT | O_EXCL, 0o600);
      const length = write(descriptor, manifestText(content.manifest));
      fsyncSync(descriptor);
      renameSync(temporary, directory.at(MANIFEST));
      directory.flush();
      content.length = length;
      content.lines = neededLines(content.manifest);
    } catch (error) {
      if (descriptor !== undefined) closeSync(descriptor);
      throw error;
    }
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = descriptor;
    return descriptor;
  }
}

const neededLines = ({ files, directories }: Manifest): number => files.size + directories.size;

/** Writes all pieces, and returns the number of bytes. */
function write(descriptor: number, pieces: Iterable<string>): number {
  let length = 0;
  for (const piece of pieces) length += writeText(descriptor, piece);
  return length;
}

function tryTruncate(descriptor: number, length: number): void {
  try {
    ftruncateSync(descriptor, length);
  } catch {}
}

const MIB = 1024 ** 2;
/** Bytes of V8's heap that the program itself needs. */
const PROGRAM_HEAP = 12 * MIB;
const HEAP = getHeapStatistics().heap_size_limit - NEW_OBJECTS_BYTES;
/** Bytes per read. */
const PIECE = MIB;

interface Found {
  /** Bytes of the file. */
  size: number;
  parsed: ParsedManifest;
}

/** Undefined if it doesn't exist. Throws {@link TerminalError} for another kind of entry. */
function openOwnDirectory({ state }: DataRoot): Directory | undefined {
  try {
    return state.openExisting();
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw ownDirectoryError(error, state.path);
  }
}

/** Reads the manifest; undefined if there is none. Neither follows a link nor waits for a pipe. */
async function readFrom(root: DataRoot, path: string): Promise<Found | undefined> {
  using directory = openOwnDirectory(root);
  if (!directory) return undefined;
  await using handle = await open(directory.at(MANIFEST), READ_FLAGS).catch((error) => {
    if (error.code === 'ENOENT' || error.code === 'ELOOP') return undefined;
    throw error;
  });
  const stats = await handle?.stat();
  if (stats?.isDirectory()) throw isDirectory(path);
  if (!handle || !stats?.isFile()) return undefined;
  const pieces = handle.createReadStream({ autoClose: false, highWaterMark: PIECE });
  return { size: stats.size, parsed: await parseManifest(pieces, HEAP - PROGRAM_HEAP) };
}

const newerVersion = (version: number) =>
  new TerminalError(
    `the manifest has version ${version}, written by a newer agent: use the image of that agent or a newer one`,
    {
      code: 'manifest.newer',
      reason: 'AgentTooOld',
    },
  );

const tooLarge = (size: number, path: string) =>
  new TerminalError(
    `the manifest has ${Math.ceil(size / 1024 ** 2)} MiB, which needs more memory than the agent has: raise spec.agent.resources.limits.memory and recreate the pod, or remove ${path}, after which files of earlier syncs have no owner`,
    { code: 'manifest.tooLarge', reason: 'TooManyFiles' },
  );

const isDirectory = (path: string) =>
  new TerminalError(`${path} is a directory, but must be a file, in which the agent lists its files: remove it`, {
    code: 'manifest.folder',
    reason: 'PathConflict',
  });
