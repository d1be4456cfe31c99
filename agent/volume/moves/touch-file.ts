import { execFileSync } from 'node:child_process';
import {
  constants,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  futimesSync,
  readSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { isAgentPath, isFilePath, isTooLong, splitPath } from '../../../shared/domain/files/relative-path.ts';
import { codeOf, isTyped, TerminalError } from '../../../shared/errors.ts';
import { OpenFile } from '../../disk/open-file.ts';
import { putNew } from '../../disk/put-new.ts';
import { succeedsUnless, unlessCode } from '../../disk/unless-code.ts';
import type { DataRoot } from '../state/data-root.ts';
import type { VolumeLock } from '../state/volume-lock.ts';

/** Content of such a file from the agent: a commit and a time. */
const marker = /^[0-9a-f]{40,64} [-0-9T:.Z]{24}\n$/;
const MAX_MARKER_BYTES = 128;
/** Name of a draft in the staging directory, which is unused between two syncs. */
const DRAFT = '0';

/** The volume and its lock, which must be held. */
interface HeldVolume {
  root: DataRoot;
  lock: Pick<VolumeLock, 'check'>;
}

/**
 * Touches a file of the data volume, so that a gateway that watches it notices changes. A file that the agent created
 * contains the text, a commit and a time; files of others keep their content, even if empty. Throws
 * {@link TerminalError} if the path is invalid, and the lock's error if another agent has the volume.
 */
export function touchFile(path: string, text: string, { root, lock }: HeldVolume): void {
  if (!isFilePath(path) || isAgentPath(path) || isTooLong(path)) throw unusable(path, "it isn't the path of a file");
  lock.check();
  const [parent, name] = splitPath(path);
  try {
    using directory = root.openDirectory(parent);
    if (!touch(directory.at(name), text)) makeFile(directory.at(name), text, root);
  } catch (error) {
    throw explained(path, error);
  }
}

const NOT_ALLOWED =
  "the agent's user can't write to it or to its directory: set runAsUser to the file's owner, let the group write it, or specify another file";
const OBSTACLES: Record<string, string> = {
  ENOENT: "its directory doesn't exist",
  ENOTDIR: "its directory doesn't exist",
  ELOOP: "it isn't a file",
  EISDIR: "it isn't a file",
  ENXIO: "it isn't a file",
  EACCES: NOT_ALLOWED,
  EPERM: NOT_ALLOWED,
};

/** Replaces a path that only this process knows and that differs at each try with the path in the volume. */
function explained(path: string, error: unknown): unknown {
  if (!(error instanceof Error) || isTyped(error)) return error;
  const code = codeOf(error);
  const obstacle = OBSTACLES[code];
  return obstacle ? unusable(path, `${obstacle} (${code})`, error) : Object.assign(error, { path, dest: path });
}

/** Touches the file; returns false if there is none. */
function touch(file: string, text: string): boolean {
  using opened = openExisting(file);
  if (!opened) return false;
  const { descriptor } = opened;
  if (!fstatSync(descriptor).isFile()) throw Object.assign(new Error('a pipe or a device'), { code: 'ENXIO' });
  if (isMarker(descriptor)) ftruncateSync(descriptor, writeSync(descriptor, text, 0));
  setTime(descriptor);
  fsyncSync(descriptor);
  return true;
}

/** Opens the file; undefined if there is none. A pipe would make the agent wait for its reader. */
function openExisting(file: string): OpenFile | undefined {
  const { O_RDWR, O_NOFOLLOW, O_NONBLOCK } = constants;
  return unlessCode(['ENOENT'], () => new OpenFile(file, O_RDWR | O_NOFOLLOW | O_NONBLOCK));
}

function isMarker(descriptor: number): boolean {
  const start = Buffer.alloc(MAX_MARKER_BYTES);
  return marker.test(start.toString('latin1', 0, readSync(descriptor, start, { position: 0 })));
}

/** Only the owner can set any time; others with write permission can set the current one, with touch(1), not Node. */
function setTime(descriptor: number): void {
  const now = new Date();
  const isSet = succeedsUnless(['EPERM'], () => futimesSync(descriptor, now, now));
  if (!isSet) execFileSync('touch', ['-'], { stdio: ['ignore', descriptor, 'ignore'] });
}

/** Creates the file with its content atomically: an empty one is considered another's. Throws `EEXIST` if it exists. */
function makeFile(file: string, text: string, root: DataRoot): void {
  using directory = root.openAgentDirectory('staging');
  directory.unlink(DRAFT);
  try {
    using draft = new OpenFile(directory.at(DRAFT), 'wx', 0o644);
    writeFileSync(draft.descriptor, text);
    fsyncSync(draft.descriptor);
    putNew(directory.at(DRAFT), file);
  } finally {
    directory.unlink(DRAFT);
  }
}

const unusable = (path: string, why: string, cause?: unknown) =>
  new TerminalError(`${path} cannot be touched (spec.gateway.reload.touchFile): ${why}`, {
    code: 'gateway.touchFile',
    reason: 'ReloadRequestInvalid',
    cause,
  });
