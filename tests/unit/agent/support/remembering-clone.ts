import type { BlobReader } from '../../../../agent/git/blob-reader.ts';
import type { Clone, CloneOptions } from '../../../../agent/git/clone.ts';
import type { Pins } from '../../../../agent/git/pins.ts';
import type { Content } from '../../../../agent/lfs/lfs-store.ts';
import { LocalClone } from './local-clone.ts';

/**
 * Caches the requests to the clones of some sandboxes and git's results, for tests that run the same few syncs many
 * times and don't test git. The content of a commit doesn't change.
 */
export class GitMemory {
  /** The directory of all clones, from the first sandbox, whose test contains all others. */
  directory: string | undefined;
  readonly commits = new Set<string>();
  /** State shared by all clones: only they write it. */
  pins: Pins | undefined;
  readonly blobs = new Map<string, Buffer>();
  readonly #answers = new Map<string, Promise<unknown>>();

  /** Returns the cached result, or runs git. Errors aren't cached. */
  recall<T>(question: unknown, ask: () => Promise<T>): Promise<T> {
    const key = JSON.stringify(question);
    const known = this.#answers.get(key) as Promise<T> | undefined;
    if (known) return known;
    const answer = ask();
    this.#answers.set(key, answer);
    answer.catch(() => this.#answers.delete(key));
    return answer;
  }
}

/** A clone that asks git each question about a commit once. */
export class RememberingClone extends LocalClone {
  readonly #memory: GitMemory;

  constructor(options: CloneOptions, memory: GitMemory) {
    super(options);
    this.#memory = memory;
  }

  override async adopt(commit: string): Promise<boolean> {
    return this.#memory.commits.has(commit) || (await super.adopt(commit));
  }

  override async fetch(...given: Parameters<Clone['fetch']>): Promise<void> {
    await super.fetch(...given);
    this.#memory.commits.add(given[0].commit);
    this.pins.forget();
  }

  override get pins(): Pins {
    this.#memory.pins ??= super.pins;
    return this.#memory.pins;
  }

  override missing(blobs: string[]) {
    return this.#memory.recall(['missing', blobs], () => super.missing(blobs));
  }

  override treeId(commit: string) {
    return this.#memory.recall(['treeId', commit], () => super.treeId(commit));
  }

  override list(...[{ signal, ...request }, bounds]: Parameters<Clone['list']>) {
    return this.#memory.recall(['list', request], () => super.list({ ...request, signal }, bounds));
  }

  override changes({ signal, ...pair }: Parameters<Clone['changes']>[0]) {
    return this.#memory.recall(['changes', pair], () => super.changes({ ...pair, signal }));
  }

  override pointers(blobs: string[]) {
    return this.#memory.recall(['pointers', blobs], () => super.pointers(blobs));
  }

  override blobs(): BlobReader {
    return new RememberingReader(() => super.blobs(), this.#memory) as Pick<BlobReader, keyof BlobReader> as BlobReader;
  }
}

/** Starts git for the first blob that it does not know. */
class RememberingReader implements Pick<BlobReader, keyof BlobReader> {
  readonly #start: () => BlobReader;
  readonly #memory: GitMemory;
  #reader: BlobReader | undefined;

  constructor(start: () => BlobReader, memory: GitMemory) {
    this.#start = start;
    this.#memory = memory;
  }

  announce(): void {}

  openNow(blob: string, isWanted: (content: Buffer) => boolean = () => true): Buffer | undefined {
    const content = this.#memory.blobs.get(blob);
    return content && isWanted(content) ? content : undefined;
  }

  async open(blob: string): Promise<Content> {
    const content = this.#memory.blobs.get(blob) ?? (await this.#read(blob));
    return { size: content.length, chunks: [content] };
  }

  async close(): Promise<void> {
    await this.#reader?.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #read(blob: string): Promise<Buffer> {
    this.#reader ??= this.#start();
    const chunks: Buffer[] = [];
    for await (const chunk of (await this.#reader.open(blob)).chunks) chunks.push(Buffer.from(chunk));
    const content = Buffer.concat(chunks);
    this.#memory.blobs.set(blob, content);
    return content;
  }
}
