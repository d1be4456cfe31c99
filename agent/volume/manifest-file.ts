import { constants } from 'node:fs';
import { type FileHandle, open, readFile, rename, rm, truncate } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { TerminalError } from '../../shared/errors.ts';
import type { Logger } from '../../shared/log.ts';
import {
  emptyManifest,
  type Manifest,
  type ManifestUpdate,
  type MutableManifest,
  updateManifest,
} from '../plan/manifest.ts';
import { countLines, MANIFEST_HEADER, manifestText, parseManifest, updateText } from './manifest-text.ts';

/** The file is written anew when it holds more than twice the lines that it needs, and so many more. */
const SPARE_LINES = 1_000;

interface Content {
  manifest: MutableManifest;
  /** Bytes of the file that count. */
  length: number;
  lines: number;
}

/**
 * The manifest beside the data: a log to which each sync adds what it is about to change and, afterwards, that it did.
 * So its cost follows the size of the change. An update that was cut off does not count.
 */
export class ManifestFile {
  readonly #path: string;
  readonly #log: Logger;
  #content: Content | undefined;
  /** Where the sync under way began to write. */
  #mark: number | undefined;

  constructor(folder: string, log: Logger) {
    this.#path = join(folder, 'manifest.jsonl');
    this.#log = log;
  }

  /** A damaged manifest owns nothing; one of a newer agent is not touched and throws {@link TerminalError}. */
  async read(): Promise<Manifest> {
    return (await this.#read()).manifest;
  }

  /** Another agent may have written it meanwhile: it is read again. */
  forget(): void {
    this.#content = undefined;
  }

  /** Adds an update; it is on the disk when this resolves, and did not happen when this throws. */
  async append(update: ManifestUpdate): Promise<void> {
    const content = await this.#read();
    const handle = await this.#openEnd(content);
    const start = content.length;
    try {
      if (start === 0) content.length += await write(handle, [MANIFEST_HEADER]);
      content.length += await write(handle, updateText(update));
      await handle.datasync();
    } catch (error) {
      content.length = start;
      await handle.truncate(start).catch(() => {}); // what is left of it does not count
      throw error;
    } finally {
      await handle.close();
    }
    updateManifest(content.manifest, update);
    content.lines += countLines(update);
    this.#mark = update.applied ? undefined : (this.#mark ?? start);
    if (start === 0) await flushFolder(dirname(this.#path));
    if (update.applied && content.lines > 2 * neededLines(content.manifest) + SPARE_LINES) {
      await this.#rewrite(content).catch((err) => this.#log.warn({ err }, 'manifest not compacted'));
    }
  }

  /** Takes back what was added since the last sync that ended. */
  async takeBack(): Promise<void> {
    const length = this.#mark;
    if (length === undefined) return;
    this.forget();
    this.#mark = undefined;
    if (length === 0) return await rm(this.#path, { force: true });
    await truncate(this.#path, length);
  }

  async #read(): Promise<Content> {
    this.#content ??= await this.#load();
    return this.#content;
  }

  async #load(): Promise<Content> {
    const none = { manifest: emptyManifest(), length: 0, lines: 0 };
    const bytes = await readFile(this.#path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    if (bytes === undefined) return none;
    const parsed = parseManifest(bytes);
    if (parsed.kind === 'manifest') {
      const { manifest, length, lines } = parsed;
      const ignored = bytes.length - length;
      if (ignored > 0) this.#log.warn({ path: this.#path, ignored }, 'end of the manifest is cut off or damaged');
      return { manifest, length, lines };
    }
    if (parsed.kind === 'damaged') {
      this.#log.warn({ path: this.#path }, 'manifest is damaged: files of earlier syncs have no owner any more');
      return none;
    }
    throw new TerminalError(`the manifest has version ${parsed.version}, of a newer agent: use that or a newer image`, {
      code: 'manifest.newer',
      reason: 'AgentTooOld',
    });
  }

  /** Opens the file at the end of what counts; one that somebody else removed or shortened is written anew before. */
  async #openEnd(content: Content): Promise<FileHandle> {
    const { O_WRONLY, O_APPEND, O_NOFOLLOW, O_CREAT, O_EXCL } = constants;
    if (content.length === 0) {
      await rm(this.#path, { force: true });
      return await open(this.#path, O_WRONLY | O_APPEND | O_CREAT | O_EXCL, 0o644);
    }
    const flags = O_WRONLY | O_APPEND | O_NOFOLLOW;
    const handle = await open(this.#path, flags).catch(() => undefined);
    const size = (await handle?.stat())?.size ?? 0;
    if (handle && size >= content.length) {
      if (size > content.length) await handle.truncate(content.length);
      return handle;
    }
    await handle?.close();
    await this.#rewrite(content);
    return await open(this.#path, flags);
  }

  async #rewrite(content: Content): Promise<void> {
    const temporary = `${this.#path}.tmp`;
    await rm(temporary, { force: true });
    const handle = await open(temporary, 'wx', 0o644);
    let length = 0;
    try {
      length = await write(handle, manifestText(content.manifest));
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, this.#path);
    this.#mark = undefined;
    content.length = length;
    content.lines = neededLines(content.manifest);
  }
}

const neededLines = ({ files, folders }: Manifest): number => files.size + folders.size;

/** Writes one piece after the other, and gives the number of bytes. */
async function write(handle: FileHandle, pieces: Iterable<string>): Promise<number> {
  let length = 0;
  for (const piece of pieces) {
    const bytes = Buffer.from(piece);
    await handle.appendFile(bytes);
    length += bytes.length;
  }
  return length;
}

/** So that the name of a new file is on the disk, too. */
async function flushFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  await handle.sync().finally(() => handle.close());
}
