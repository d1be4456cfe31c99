import { randomUUID } from 'node:crypto';
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmdirSync,
  unlinkSync,
} from 'node:fs';
import { joinPath } from '../../shared/domain/files/relative-path.ts';
import { codeOf, TerminalError } from '../../shared/errors.ts';
import { setMode } from './set-mode.ts';
import { succeedsUnless } from './unless-code.ts';

const FLAGS = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
/**
 * Directory of paths to open directories in Linux, as a substitute for openat(2), which Node lacks. `/proc/self` is a
 * link that a first sync would follow some hundred thousand times, so it is resolved once.
 */
const DESCRIPTORS = `/proc/${ownNumber()}/fd`;

/**
 * A directory that is held open: paths from {@link Directory.at} lead into it, even if its path is replaced. Without /proc
 * (on a developer's machine), its real path is checked when it is opened.
 */
export class Directory implements Disposable {
  readonly #descriptor: number;
  /** Real path of the volume's root, and the path below it. */
  readonly #volume: string;
  readonly #below: string;
  readonly #isHeldByPath: boolean;

  private constructor(descriptor: number, place: { volume: string; below: string }, isHeldByPath: boolean) {
    this.#descriptor = descriptor;
    this.#volume = place.volume;
    this.#below = place.below;
    this.#isHeldByPath = isHeldByPath;
  }

  /** Opens the root of a volume at its real path. */
  static openAt(volume: string): Directory {
    return new Directory(openSync(volume, FLAGS), { volume, below: '' }, !existsSync(DESCRIPTORS));
  }

  /** Returns the path of an entry, valid in this process while the directory is open. */
  at(name: string): string {
    return this.#isHeldByPath ? `${this.#realPath}/${name}` : `${DESCRIPTORS}/${this.#descriptor}/${name}`;
  }

  /** Returns the path of an entry in the volume when the directory was opened, for messages. */
  pathOf(name: string): string {
    return joinPath(this.#below, name);
  }

  /** Opens a directory in this one; `''` is this one. Throws {@link TerminalError} if it is a link. */
  open(name: string): Directory {
    const path = this.pathOf(name);
    try {
      const place = { volume: this.#volume, below: path };
      const opened = new Directory(openSync(this.at(name || '.'), FLAGS), place, this.#isHeldByPath);
      if (!this.#isHeldByPath || realpathSync(opened.#realPath) === opened.#realPath) return opened;
      opened.close();
    } catch (error) {
      const code = codeOf(error);
      if (code !== 'ELOOP' && code !== 'ENOTDIR') throw error;
      if (!lstatSync(this.at(name), { throwIfNoEntry: false })?.isSymbolicLink()) throw error;
    }
    throw new TerminalError(
      `${path} is a symbolic link in the data volume, and the agent never writes through links: remove it`,
      {
        code: 'data.symbolicLink',
        reason: 'PathConflict',
      },
    );
  }

  /** Opens a directory by its path below this one, level by level; `''` is this one. */
  openBelow(path: string, openIn = (above: Directory, name: string) => above.open(name)): Directory {
    let directory = this.open('');
    for (const name of path === '' ? [] : path.split('/')) {
      using above = directory;
      directory = openIn(above, name);
    }
    return directory;
  }

  /** Creates a directory in this one; returns false if the name is taken. */
  make(name: string, permissions = 0o755): boolean {
    return succeedsUnless(['EEXIST'], () => mkdirSync(this.at(name), permissions));
  }

  /** Returns the names of all entries; none if the directory was removed. */
  list(): string[] {
    return readdirSync(this.at('.'));
  }

  /** Returns the names of all entries with one character per byte, because names might not be UTF-8. */
  rawNames(): string[] {
    return readdirSync(this.at('.'), { encoding: 'latin1' });
  }

  /** Returns the path of an entry by its raw name. */
  rawPath(rawName: string): Buffer {
    return Buffer.concat([Buffer.from(this.at('')), Buffer.from(rawName, 'latin1')]);
  }

  /** Removes a file or a link, never a directory; returns whether it existed. */
  unlink(name: string): boolean {
    return succeedsUnless(['ENOENT'], () => unlinkSync(this.at(name)));
  }

  /** Removes a file or a link; returns false for a directory. */
  unlinkUnlessDirectory(name: string): boolean {
    try {
      this.unlink(name);
      return true;
    } catch (error) {
      if (lstatSync(this.at(name), { throwIfNoEntry: false })?.isDirectory()) return false;
      throw error;
    }
  }

  /** Frees a name for a file of the agent. A directory there is renamed. */
  makeRoom(name: string): void {
    if (!this.unlinkUnlessDirectory(name)) renameSync(this.at(name), this.at(`${name}.${randomUUID()}`));
  }

  /** Removes an empty directory, never a link to one; returns whether it did. */
  removeDirectory(name: string): boolean {
    return succeedsUnless(['ENOENT', 'ENOTEMPTY', 'EEXIST', 'ENOTDIR'], () => rmdirSync(this.at(name)));
  }

  get #realPath(): string {
    return this.#below === '' ? this.#volume : `${this.#volume}/${this.#below}`;
  }

  get permissions(): number {
    return fstatSync(this.#descriptor).mode & 0o777;
  }

  /** Sets its permissions, if the volume keeps any; keeps setgid, which determines the group of new directories. */
  permit(permissions: number): void {
    const { mode } = fstatSync(this.#descriptor);
    setMode(this.#descriptor, (mode & 0o7000) | permissions);
  }

  /** Sets the permissions of a directory in this one, like {@link permit}. */
  permitBelow(name: string, permissions: number): void {
    using directory = this.open(name);
    directory.permit(permissions);
  }

  /** Checks whether the path leads to this directory. */
  isAt(path: string): boolean {
    return isOpenAt(this.#descriptor, path);
  }

  /** Flushes the names in it to the disk. */
  flush(): void {
    fsyncSync(this.#descriptor);
  }

  close(): void {
    closeSync(this.#descriptor);
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/** Checks whether the path leads to an open file or directory. */
export function isOpenAt(descriptor: number, path: string): boolean {
  const found = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  const { ino, dev } = fstatSync(descriptor, { bigint: true });
  return found?.ino === ino && found.dev === dev;
}

/** Returns the process number in the mounted /proc, which can differ from the process's own. */
function ownNumber(): string {
  try {
    return readlinkSync('/proc/self');
  } catch {
    return 'self';
  }
}
