import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { isLfsPointer } from '../lfs/lfs-pointer.ts';

export interface FileHashes {
  sha256: string;
  /** Git's id of the content as a blob; undefined for a pointer of Git LFS, which is never the right content. */
  blob: string | undefined;
}

/** Neither follows a link nor waits for a pipe, should one have taken the file's place. */
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Reads a file in pieces and hashes it both ways; `algorithm` is that of the repository's object ids. */
export async function hashFile(path: string, algorithm: 'sha1' | 'sha256'): Promise<FileHashes> {
  const handle = await open(path, FLAGS);
  try {
    const { size } = await handle.stat();
    const content = createHash('sha256');
    const object = createHash(algorithm).update(`blob ${size}\0`);
    let isPointer = false;
    for await (const chunk of handle.createReadStream({ autoClose: false })) {
      isPointer ||= isLfsPointer(chunk as Buffer, size);
      content.update(chunk as Buffer);
      object.update(chunk as Buffer);
    }
    return { sha256: content.digest('hex'), blob: isPointer ? undefined : object.digest('hex') };
  } finally {
    await handle.close();
  }
}
