import { execFileSync } from 'node:child_process';
import {
  closeSync,
  constants,
  fsyncSync,
  ftruncateSync,
  futimesSync,
  openSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { isAgentPath, isFilePath, isTooLong } from '../../shared/domain/relative-path.ts';
import { isTyped, TerminalError } from '../../shared/errors.ts';
import type { DataRoot } from './data-root.ts';
import type { Folder } from './folder.ts';
import { putNew } from './put-new.ts';
import type { VolumeLock } from './volume-lock.ts';

/** What the agent writes into such a file: a commit and a time. */
const marker = /^[0-9a-f]{40,64} [-0-9T:.Z]+\n$/;
const MAX_MARKER_BYTES = 128;
/** In the staging folder, which holds nothing between two syncs that is needed: the name of a file that the agent wrote. */
const DRAFT = '0';

/** The volume, and its lock, which is to be held. */
interface Volume {
  root: DataRoot;
  lock: Pick<VolumeLock, 'check'>;
}

/**
 * Touches a file of the data volume, so that a gateway that watches it sees that the others changed. A file that the
 * agent made holds the text, a commit and a time; one of somebody else keeps its content, also if it has none. Throws
 * {@link TerminalError} where the path is no place for a file, and what the lock throws where that is another agent's.
 */
export async function touchFile(path: string, text: string, { root, lock }: Volume): Promise<void> {
  if (!isFilePath(path) || isAgentPath(path) || isTooLong(path)) throw unusable(path, 'it is no path of a file');
  lock.check();
  const folder = openFolder(root, path);
  try {
    const file = folder.at(basename(path));
    const handle = await openFile(file, path);
    if (handle) await touch(handle, { path, text, lock }).finally(() => handle.close());
    else makeFile(file, text, root);
  } catch (error) {
    throw named(path, error);
  } finally {
    folder.close();
  }
}

/** The path in the volume replaces one that only this process knows and that differs at each try. */
function named(path: string, error: unknown): unknown {
  const { code = '' } = error as NodeJS.ErrnoException;
  if (!(error instanceof Error) || isTyped(error)) return error;
  if (code !== 'EACCES' && code !== 'EPERM') return Object.assign(error, { path, dest: path });
  const remedy = "set runAsUser to the file's owner, let the group write it, or name another file";
  return unusable(path, `the agent's user may not write to it, or to its directory (${code}): ${remedy}`, error);
}

/** Opens the file, if there is one. A pipe would make the agent wait for whoever reads it. */
async function openFile(file: string, path: string): Promise<FileHandle | undefined> {
  const { O_RDWR, O_NOFOLLOW, O_NONBLOCK } = constants;
  return await open(file, O_RDWR | O_NOFOLLOW | O_NONBLOCK).catch((cause) => {
    if (cause.code === 'ENOENT') return undefined;
    const isOccupied = ['ELOOP', 'EISDIR', 'ENXIO', 'EMLINK'].includes(cause.code);
    throw isOccupied ? unusable(path, 'what is there is no file') : cause;
  });
}

interface Touch {
  path: string;
  text: string;
  lock: Volume['lock'];
}

async function touch(handle: FileHandle, { path, text, lock }: Touch): Promise<void> {
  const { size, isFile } = await statOf(handle);
  if (!isFile) throw unusable(path, 'what is there is no file');
  const isOurs = await isMarker(handle, size);
  lock.check();
  // Nothing comes between the look at the lock and the changes.
  if (isOurs) ftruncateSync(handle.fd, writeSync(handle.fd, text, 0));
  setTime(handle.fd);
  await handle.sync();
}

/** A time of one's choice is for the owner of a file; the present is for whoever may write it, by touch(1): Node has no call. */
function setTime(descriptor: number): void {
  const now = new Date();
  try {
    futimesSync(descriptor, now, now);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw error;
    execFileSync('touch', ['-'], { stdio: ['ignore', descriptor, 'ignore'] });
  }
}

/** It comes with its content, or not at all: one that is empty is somebody else's. Throws `EEXIST` where something is by now. */
function makeFile(file: string, text: string, root: DataRoot): void {
  const folder = root.openAgentFolder('staging');
  folder.unlink(DRAFT);
  const descriptor = openSync(folder.at(DRAFT), 'wx', 0o644);
  try {
    writeFileSync(descriptor, text);
    fsyncSync(descriptor);
    putNew(folder.at(DRAFT), file);
  } finally {
    closeSync(descriptor);
    folder.unlink(DRAFT);
    folder.close();
  }
}

function openFolder(root: DataRoot, path: string): Folder {
  const folder = dirname(path) === '.' ? '' : dirname(path);
  try {
    return root.openFolder(folder);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    throw ['ENOENT', 'ENOTDIR'].includes(code) ? unusable(path, `there is no folder ${folder}`) : named(path, error);
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

const unusable = (path: string, why: string, cause?: unknown) =>
  new TerminalError(`${path} cannot be touched (spec.gateway.reload.touchFile): ${why}`, {
    code: 'gateway.touchFile',
    reason: 'ReloadRequestInvalid',
    cause,
  });
