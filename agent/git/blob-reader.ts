import type { Git } from '../../shared/io/git/git.ts';
import type { Content } from '../lfs/lfs-store.ts';
import {
  isLfsPointer,
  type LfsPointer,
  MAX_POINTER_BYTES,
  MIN_POINTER_BYTES,
  parseLfsPointer,
} from '../plan/lfs-pointer.ts';
import { otherKind } from './find-fault.ts';
import { DamagedCloneError, type GitStream, MissingBlobError, startGitStream } from './git-stream.ts';

/** Maximum number of blobs requested before the first one arrives. */
const AHEAD = 4096;

/** Reads blobs in sequence from a single `git cat-file --batch-command` process, in chunks. */
export class BlobReader implements AsyncDisposable {
  readonly #stream: GitStream;
  readonly #chunks: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);
  /** Start of the next response in the rest. */
  #at = 0;
  #announced: string[] = [];
  /** Number of announced blobs that were requested, and that were opened. */
  #asked = 0;
  #opened = 0;

  /** The signal ends the process. */
  constructor(git: Git, gitDir: string, signal?: AbortSignal) {
    const args = ['-c', 'core.bigFileThreshold=4m', 'cat-file', '--batch-command', '--buffer'];
    this.#stream = startGitStream(git, gitDir, args, signal);
    this.#chunks = this.#stream.output[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  }

  /** Announces the blobs to open, in this order, so that git doesn't wait for one request after the other. */
  announce(blobs: string[]): void {
    this.#announced = blobs;
    this.#asked = 0;
    this.#opened = 0;
  }

  /** Opens a blob. Throws {@link MissingBlobError} if it is missing, and {@link TerminalError} if it isn't a blob. */
  async open(blob: string): Promise<Content> {
    const whole = this.openNow(blob);
    if (whole) return { size: whole.length, chunks: [whole] };
    this.#ask(blob);
    const header = await this.#readLine();
    if (!header.startsWith(blob) || !header.startsWith(' blob ', blob.length)) {
      const kind = / (commit|tag|tree) \d+$/.exec(header)?.[1];
      if (kind) throw otherKind(`the commit contains a file whose object ${blob} is a ${kind}`);
      const isMissing = header.endsWith(' missing');
      throw new (isMissing ? MissingBlobError : DamagedCloneError)(`unexpected output of cat-file: ${header}`);
    }
    const size = Number(header.slice(blob.length + ' blob '.length));
    return { size, chunks: this.#read(size) };
  }

  /**
   * Opens a blob without waiting, because there can be very many small files. If it hasn't arrived completely or
   * `isWanted` returns false, opens nothing and returns undefined.
   */
  openNow(blob: string, isWanted: (content: Buffer) => boolean = () => true): Buffer | undefined {
    const rest = this.#rest;
    const end = rest.indexOf(10, this.#at);
    if (end === -1) return undefined;
    const header = rest.toString('latin1', this.#at, end);
    if (!header.startsWith(blob) || !header.startsWith(' blob ', blob.length)) return undefined;
    const start = end + 1;
    const next = start + Number(header.slice(blob.length + ' blob '.length));
    // The content is followed by a line feed.
    if (!(next < rest.length)) return undefined;
    const content = rest.subarray(start, next);
    if (!isWanted(content)) return undefined;
    this.#ask(blob);
    this.#at = next + 1;
    return content;
  }

  /** Ends the process. */
  async close(): Promise<void> {
    this.#stream.child.stdin?.end();
    this.#stream.kill();
    await this.#stream.finish().catch(() => {}); // it was killed
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #ask(blob: string): void {
    if (this.#opened >= this.#announced.length) {
      this.#send([blob]);
      return;
    }
    this.#opened += 1;
    if (this.#asked - this.#opened > AHEAD / 2) return;
    // The first one alone: if the server omitted all files, git doesn't search for the others in vain.
    const next = this.#announced.slice(this.#asked, this.#asked === 0 ? 1 : this.#opened + AHEAD);
    this.#asked += next.length;
    this.#send(next);
  }

  /** Git fills a buffer before it writes responses, unless it gets a flush command. */
  #send(blobs: string[]): void {
    if (blobs.length === 0) return;
    this.#stream.child.stdin?.write(`${blobs.map((blob) => `contents ${blob}\n`).join('')}flush\n`);
  }

  async *#read(size: number): AsyncGenerator<Buffer> {
    for (let left = size; left > 0; ) {
      const chunk = await this.#next();
      const part = chunk.subarray(0, left);
      this.#rest = chunk.subarray(part.length);
      left -= part.length;
      yield part;
    }
    await this.#readLine(); // the content is followed by a line feed
  }

  async #readLine(): Promise<string> {
    const parts: Buffer[] = [];
    for (;;) {
      const chunk = await this.#next();
      const end = chunk.indexOf(10);
      parts.push(end === -1 ? chunk : chunk.subarray(0, end));
      this.#rest = end === -1 ? Buffer.alloc(0) : chunk.subarray(end + 1);
      if (end !== -1) return Buffer.concat(parts).toString('utf8');
    }
  }

  async #next(): Promise<Buffer> {
    if (this.#at > 0) this.#rest = this.#rest.subarray(this.#at);
    this.#at = 0;
    if (this.#rest.length > 0) return this.#rest;
    const { value, done } = await this.#chunks.next();
    if (!done) return value as Buffer;
    await this.#stream.finish();
    throw new DamagedCloneError('cat-file exited early');
  }
}

/** Returns the sizes of blobs in bytes; undefined for blobs that aren't in the repository. */
export async function listSizes(
  git: Git,
  gitDir: string,
  blobs: string[],
  signal?: AbortSignal,
): Promise<ReadonlyMap<string, number | undefined>> {
  if (blobs.length === 0) return new Map();
  const distinct = [...new Set(blobs)];
  const input = distinct.join('\n');
  const args = [`--git-dir=${gitDir}`, 'cat-file', '--buffer', '--batch-check=%(objectname) %(objectsize)'];
  const output = await git.run(args, { input, maxOutputBytes: 1024 + 2 * input.length, signal });
  // A line `<blob> <size>` for each, or `<blob> missing`.
  const sizes = output
    .toString('latin1')
    .split('\n')
    .map((line) => Number(line.slice(line.indexOf(' '))));
  return new Map(distinct.map((blob, index) => [blob, Number.isNaN(sizes[index]) ? undefined : sizes[index]]));
}

/** Returns the Git LFS pointers among blobs; skips missing blobs. */
export async function readPointers(
  git: Git,
  gitDir: string,
  blobs: string[],
  signal?: AbortSignal,
): Promise<LfsPointer[]> {
  const sizes = await listSizes(git, gitDir, blobs, signal);
  const small = [...sizes].flatMap(([blob, size = 0]) =>
    size >= MIN_POINTER_BYTES && size < MAX_POINTER_BYTES ? [blob] : [],
  );
  if (small.length === 0) return [];
  await using reader = new BlobReader(git, gitDir, signal);
  reader.announce(small);
  const pointers: LfsPointer[] = [];
  for (const blob of small) {
    const content = await wholeOf(await reader.open(blob));
    const pointer = isLfsPointer(content, content.length) ? parseLfsPointer(content) : undefined;
    if (pointer) pointers.push(pointer);
  }
  return pointers;
}

/** Reads content that is known to be small. */
export async function wholeOf({ chunks }: Content): Promise<Buffer> {
  if (Array.isArray(chunks) && chunks.length === 1) return chunks[0];
  const parts: Buffer[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return Buffer.concat(parts);
}
