import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { isAgentPath, isFilePath, isTooLong } from '../../shared/domain/relative-path.ts';
import { TerminalError } from '../../shared/errors.ts';
import type { DataRoot } from './data-root.ts';
import type { Folder } from './folder.ts';

/** What the agent writes into such a file: a commit and a time. */
const marker = /^[0-9a-f]{40,64} [-0-9T:.Z]+\n$/;
const MAX_MARKER_BYTES = 128;

/**
 * Touches a file of the data volume, so that a gateway that watches it sees that the others changed. A file that the
 * agent made holds the text, a commit and a time; one of somebody else keeps its content, also if it has none. Throws
 * {@link TerminalError} where the path is no place for a file.
 */
export async function touchFile(root: DataRoot, path: string, text: string): Promise<void> {
  if (!isFilePath(path) || isAgentPath(path) || isTooLong(path)) throw unusable(path, 'it is no path of a file');
  const { handle, isNew } = await openFile(root, path);
  try {
    const { size, isFile } = await statOf(handle);
    if (!isFile) throw unusable(path, 'what is there is no file');
    if (isNew || (await isMarker(handle, size))) {
      await handle.write(text, 0);
      await handle.truncate(Buffer.byteLength(text));
    }
    const now = new Date();
    await handle.utimes(now, now);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Opens the file, or makes it. A pipe would make the agent wait for whoever reads it. */
async function openFile(root: DataRoot, path: string): Promise<{ handle: FileHandle; isNew: boolean }> {
  const { O_RDWR, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK } = constants;
  const folder = openFolder(root, path);
  const file = folder.at(basename(path));
  try {
    return { handle: await open(file, O_RDWR | O_CREAT | O_EXCL, 0o644), isNew: true };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    const handle = await open(file, O_RDWR | O_NOFOLLOW | O_NONBLOCK).catch((cause) => {
      const isOccupied = ['ELOOP', 'EISDIR', 'ENXIO', 'EMLINK'].includes(cause.code);
      throw isOccupied ? unusable(path, 'what is there is no file') : cause;
    });
    return { handle, isNew: false };
  } finally {
    folder.close();
  }
}

function openFolder(root: DataRoot, path: string): Folder {
  const folder = dirname(path) === '.' ? '' : dirname(path);
  try {
    return root.openFolder(folder);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    throw ['ENOENT', 'ENOTDIR'].includes(code) ? unusable(path, `there is no folder ${folder}`) : error;
  }
}

async function statOf(handle: FileHandle): Promise<{ size: number; isFile: boolean }> {
  const stats = await handle.stat();
  return { size: stats.size, isFile: stats.isFile() };
}

async function isMarker(handle: FileHandle, size: number): Promise<boolean> {
  if (size > MAX_MARKER_BYTES) return false;
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(MAX_MARKER_BYTES), 0, MAX_MARKER_BYTES, 0);
  return marker.test(buffer.toString('latin1', 0, bytesRead));
}

const unusable = (path: string, why: string) =>
  new TerminalError(`${path} cannot be touched (spec.gateway.reload.touchFile): ${why}`, {
    code: 'gateway.touchFile',
    reason: 'ReloadRequestInvalid',
  });
