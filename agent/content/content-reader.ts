import { TerminalError, TransientError } from '../../shared/errors.ts';
import { type BlobReader, wholeOf } from '../git/blob-reader.ts';
import { isLfsPointer, MAX_POINTER_BYTES, parseLfsPointer } from '../lfs/lfs-pointer.ts';
import type { Content, LfsStore } from '../lfs/lfs-store.ts';
import type { DesiredFile } from '../plan/plan-input.ts';

/** Reads the content of files one after the other, whether in git or in Git LFS. A pointer is never given as content. */
export class ContentReader {
  readonly #blobs: BlobReader;
  readonly #lfs: LfsStore;

  constructor(blobs: BlobReader, lfs: LfsStore) {
    this.#blobs = blobs;
    this.#lfs = lfs;
  }

  /** Says what will be opened, in this order. */
  announce(files: DesiredFile[]): void {
    this.#blobs.announce(files.map(({ blob }) => blob));
  }

  /** Throws {@link TransientError} where the content is not on disk. */
  async open(file: DesiredFile): Promise<Content> {
    const blob = await this.#blobs.open(file.blob);
    if (blob.size >= MAX_POINTER_BYTES) return blob;
    const content = await wholeOf(blob);
    if (isLfsPointer(content, content.length)) return await this.#openObject(file, content);
    return { size: blob.size, chunks: [content] };
  }

  /** The content of a small file, where it has come already and is no pointer; undefined otherwise: it has to be opened. */
  openNow({ blob }: DesiredFile): Buffer | undefined {
    return this.#blobs.openNow(blob, (content) => !isLfsPointer(content, content.length));
  }

  async close(): Promise<void> {
    await this.#blobs.close();
  }

  async #openObject({ source }: DesiredFile, content: Buffer): Promise<Content> {
    const pointer = parseLfsPointer(content);
    if (!pointer) {
      throw new TerminalError(
        `${source} is a pointer of Git LFS that is damaged or asks for an extension: commit the file again, or exclude it`,
        {
          code: 'lfs.pointer',
          reason: 'ContentInvalid',
        },
      );
    }
    const object = await this.#lfs.open(pointer);
    if (!object) throw notFetched(source);
    return object;
  }
}

const notFetched = (file: string) =>
  new TransientError(`the content of ${file} is in Git LFS, and not fetched`, {
    code: 'lfs.missing',
    reason: 'LfsUnavailable',
  });
