import { createHash } from 'node:crypto';
import { closeSync, createReadStream, fstatSync, openSync, type PathLike, readSync, type Stats } from 'node:fs';
import { codeOf } from '../../shared/errors.ts';
import { isLfsPointer } from '../plan/lfs-pointer.ts';
import { READ_FLAGS } from './read-text.ts';

interface FileHashes {
  sha256: string;
  /** Git's ID of the content as a blob; undefined for a Git LFS pointer, which is never the right content. */
  blob: string | undefined;
}

/** For a file whose content isn't needed. */
export const UNREAD: FileHashes = { sha256: '', blob: undefined };

export const openFile = (path: PathLike): number => openSync(path, READ_FLAGS);

/** Checks whether a file or directory belongs to a user who gives the agent no permission, or has a mode without it. */
export const isForbidden = (error: unknown): boolean => ['EACCES', 'EPERM'].includes(codeOf(error));

/** Hashes a file. Undefined if its content is unknown: a large sparse file isn't read, and others can be unreadable. */
export async function readHash(path: PathLike, signal?: AbortSignal): Promise<string | undefined> {
  try {
    return (await hashOpen(openFile(path), 'sha256', signal))?.sha256 || undefined;
  } catch (error) {
    if (isForbidden(error)) return undefined;
    throw error;
  }
}

/** Larger files are read only if they aren't sparse: an empty file can claim to be larger than all disks. */
const MAX_SPARSE = 1024 ** 3;

const isHollow = ({ size, blocks }: Stats): boolean => size > MAX_SPARSE && blocks * 512 < size / 8;

/**
 * Computes both hashes of a file, and closes it; `algorithm` is the one for object IDs. Reads only up to the initial
 * size, because the file might keep growing. Undefined if it isn't a file.
 */
export async function hashOpen(
  descriptor: number,
  algorithm: 'sha1' | 'sha256',
  signal?: AbortSignal,
): Promise<FileHashes | undefined> {
  const stats = fstatSync(descriptor);
  const { size } = stats;
  if (!stats.isFile() || size === 0 || isHollow(stats)) closeSync(descriptor);
  if (!stats.isFile()) return undefined;
  if (isHollow(stats)) return UNREAD;
  const content = createHash('sha256');
  const object = createHash(algorithm).update(`blob ${size}\0`);
  let isPointer = false;
  for await (const chunk of size === 0 ? [] : contentOf(descriptor, size)) {
    signal?.throwIfAborted();
    isPointer ||= isLfsPointer(chunk, size);
    content.update(chunk);
    object.update(chunk);
  }
  return { sha256: content.digest('hex'), blob: isPointer ? undefined : object.digest('hex') };
}

/** Maximum size for a synchronous read: for small files, a stream or thread takes many times longer. */
const SYNCHRONOUS_BYTES = 64 * 1024;

/** Reads up to `size` bytes, and closes the file. */
export async function* contentOf(descriptor: number, size: number): AsyncGenerator<Buffer> {
  if (size > SYNCHRONOUS_BYTES) return yield* createReadStream('', { fd: descriptor, end: size - 1 });
  try {
    const content = Buffer.allocUnsafe(size);
    for (let from = 0; from < size; ) {
      const bytesRead = readSync(descriptor, content, from, size - from, from);
      if (bytesRead === 0) return;
      yield content.subarray(from, from + bytesRead);
      from += bytesRead;
    }
  } finally {
    closeSync(descriptor);
  }
}
