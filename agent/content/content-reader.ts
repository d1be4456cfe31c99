import { TerminalError, TransientError } from '../../shared/errors.ts';
import { type BlobReader, wholeOf } from '../git/blob-reader.ts';
import { MissingBlobError } from '../git/git-stream.ts';
import { isLfsPointer, MAX_POINTER_BYTES, parseLfsPointer } from '../lfs/lfs-pointer.ts';
import type { Content, LfsStore } from '../lfs/lfs-store.ts';
import type { DesiredFile } from '../plan/plan-input.ts';

export interface ContentSources {
  openBlobs: () => BlobReader;
  lfs: LfsStore;
  /** Fetches what of these files is not on disk. */
  provide: (files: DesiredFile[]) => Promise<void>;
}

/**
 * Reads the content of files one after the other, whether in git or in Git LFS. A pointer is content only if `.gitattributes` doesn't say that it is one.
 * Whether all of it is on disk shows while it is read: to look at each file before would take as long as to read it.
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

  /** Says what will be opened, in this order. */
  announce(files: DesiredFile[]): void {
    this.#announced = files;
    this.#blobs.announce(files.map(({ blob }) => blob));
  }

  /** Where the content is not on disk, it is fetched with that of all that follow, once: throws {@link TransientError} then. */
  async open(file: DesiredFile): Promise<Content> {
    try {
      return await this.#read(file);
    } catch (error) {
      if (this.#isProvided || !isLeftOut(error)) throw error;
    }
    await this.#provide(file);
    return await this.#read(file);
  }

  /** No git may read meanwhile. */
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
    // As git does: a fixture or an example that looks like a pointer is a file like any other.
    if (!file.lfs) return { size: blob.size, chunks: [content], lfs: false };
    return { ...(await this.#openObject(file, content)), lfs: true };
  }

  /** The content of a small file, where it has come already and is no pointer; undefined otherwise: it has to be opened. */
  openNow({ blob }: DesiredFile): Buffer | undefined {
    return this.#blobs.openNow(blob, (content) => !isLfsPointer(content, content.length));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#blobs.close();
  }

  async #openObject({ source }: DesiredFile, content: Buffer): Promise<Content> {
    const pointer = parseLfsPointer(content);
    if (!pointer) {
      throw new TerminalError(
        `${source} is a damaged Git LFS pointer or requires an extension: commit the file again, or exclude it`,
        {
          code: 'lfs.pointer',
          reason: 'ContentInvalid',
        },
      );
    }
    const object = await this.#sources.lfs.open(pointer);
    if (!object) throw notFetched(source);
    return object;
  }
}

/** Whether the content can be fetched: it was left out, or is in Git LFS. */
const isLeftOut = (error: unknown): boolean =>
  error instanceof MissingBlobError || (error instanceof TransientError && error.code === NOT_FETCHED);

const NOT_FETCHED = 'lfs.missing';

const notFetched = (file: string) =>
  new TransientError(`the content of ${file} is stored in Git LFS and hasn't been fetched`, {
    code: NOT_FETCHED,
    reason: 'LfsUnavailable',
  });
