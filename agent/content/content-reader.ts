import { TerminalError, TransientError } from '../../shared/errors.ts';
import { type BlobReader, wholeOf } from '../git/blob-reader.ts';
import { MissingBlobError } from '../git/git-stream.ts';
import type { Content, LfsStore } from '../lfs/lfs-store.ts';
import { isLfsPointer, MAX_POINTER_BYTES, parseLfsPointer } from '../plan/lfs-pointer.ts';
import type { DesiredFile } from '../plan/plan-input.ts';

export interface ContentSources {
  openBlobs: () => BlobReader;
  lfs: LfsStore;
  /** Fetches the content of these files that isn't on disk. */
  provide: (files: DesiredFile[]) => Promise<void>;
}

/**
 * Reads the content of files in sequence, from git or Git LFS. A pointer is content itself unless `.gitattributes`
 * marks it. Missing content is noticed during reading: checking each file first would take as long as reading it.
 */
export class ContentReader implements AsyncDisposable {
  readonly #sources: ContentSources;
  #blobs: BlobReader;
  #announced: DesiredFile[] = [];
  #isProvided = false;

  constructor(sources: ContentSources) {
    this.#sources = sources;
    this.#blobs = sources.openBlobs();
  }

  /** Announces the files to open, in this order. */
  announce(files: DesiredFile[]): void {
    this.#announced = files;
    this.#blobs.announce(files.map(({ blob }) => blob));
  }

  /** Opens a file. Fetches missing content with all that follows, once; after that, throws {@link TransientError}. */
  async open(file: DesiredFile): Promise<Content> {
    try {
      return await this.#read(file);
    } catch (error) {
      if (this.#isProvided || !isIncomplete(error)) throw error;
    }
    await this.#provide(file);
    return await this.#read(file);
  }

  /** Git must not read from the clone at the same time. */
  async #provide(file: DesiredFile): Promise<void> {
    const { openBlobs, provide } = this.#sources;
    const from = this.#announced.indexOf(file);
    const left = from === -1 ? [file] : this.#announced.slice(from);
    await this.#blobs.close();
    this.#isProvided = true;
    try {
      await provide(left);
    } finally {
      this.#blobs = openBlobs();
    }
    this.announce(left);
  }

  async #read(file: DesiredFile): Promise<Content> {
    const blob = await this.#blobs.open(file.blob);
    if (blob.size >= MAX_POINTER_BYTES) return blob;
    const content = await wholeOf(blob);
    if (!isLfsPointer(content, content.length)) return { size: blob.size, chunks: [content] };
    // Like git, treats a fixture or an example that looks like a pointer as an ordinary file.
    if (!file.lfs) return { size: blob.size, chunks: [content], lfs: false };
    return { ...(await this.#openObject(file, content)), lfs: true };
  }

  /** Returns the content of a small file that has arrived and isn't a pointer; undefined if it must be opened. */
  openNow({ blob }: DesiredFile): Buffer | undefined {
    return this.#blobs.openNow(blob, (content) => !isLfsPointer(content, content.length));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#blobs.close();
  }

  async #openObject({ source }: DesiredFile, content: Buffer): Promise<Content> {
    const pointer = parseLfsPointer(content);
    if (!pointer) {
      const message = `${source} is a damaged Git LFS pointer or requires an extension: commit the file again, or exclude it`;
      const problems = [{ key: `${source}: lfs`, message }];
      throw new TerminalError(message, { code: 'lfs.pointer', reason: 'ContentInvalid', problems });
    }
    const object = await this.#sources.lfs.open(pointer);
    if (!object) throw notFetched(source);
    return object;
  }
}

/** Checks whether the content can be fetched: it was omitted from a fetch, or is in Git LFS. */
const isIncomplete = (error: unknown): boolean =>
  error instanceof MissingBlobError || (error instanceof TransientError && error.code === NOT_FETCHED);

const NOT_FETCHED = 'lfs.missing';

const notFetched = (file: string) =>
  new TransientError(`the content of ${file} is stored in Git LFS and hasn't been fetched`, {
    code: NOT_FETCHED,
    reason: 'LfsUnavailable',
  });
