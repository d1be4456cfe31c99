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
import { TerminalError } from '../../shared/errors.ts';
import { setMode } from './set-mode.ts';

const FLAGS = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
/**
 * Where Linux gives an open folder a path that leads to it and nowhere else: what openat(2) is for, which Node lacks.
 * `/proc/self` is a link, which a first sync would follow some hundred thousand times, so it is followed once.
 */
const DESCRIPTORS = `/proc/${ownNumber()}/fd`;

/**
 * A folder that is held open: paths from {@link Folder.at} lead into it, whatever takes the place of its name or of a
 * folder above it. Where there is no /proc (on a developer's machine), its real path is checked when it is opened.
 */
export class Folder implements Disposable {
  readonly #descriptor: number;
  readonly #path: string;
  readonly #isHeldByPath: boolean;

  private constructor(descriptor: number, path: string, isHeldByPath: boolean) {
    this.#descriptor = descriptor;
    this.#path = path;
    this.#isHeldByPath = isHeldByPath;
  }

  /** Opens the folder at a real path. */
  static openAt(path: string): Folder {
    return new Folder(openSync(path, FLAGS), path, !existsSync(DESCRIPTORS));
  }

  /** The path of an entry, valid in this process as long as the folder is open. */
  at(name: string): string {
    return this.#isHeldByPath ? `${this.#path}/${name}` : `${DESCRIPTORS}/${this.#descriptor}/${name}`;
  }

  /** The path of an entry as it was when this was opened: for people. */
  pathOf(name: string): string {
    return name === '' ? this.#path : `${this.#path}/${name}`;
  }

  /** Opens a folder in this one, `''` being this one. Throws {@link TerminalError} where a link is in its place. */
  open(name: string): Folder {
    const path = this.pathOf(name);
    try {
      const opened = new Folder(openSync(this.at(name || '.'), FLAGS), path, this.#isHeldByPath);
      if (!this.#isHeldByPath || realpathSync(path) === path) return opened;
      opened.close();
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
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

  /** Opens a folder by its path below this one, `''` being this one; each on the way as {@link Folder.open} does. */
  openBelow(path: string): Folder {
    let folder = this.open('');
    for (const name of path === '' ? [] : path.split('/')) {
      using above = folder;
      folder = above.open(name);
    }
    return folder;
  }

  /** Makes a folder in this one; gives false where something of that name is there. */
  make(name: string, permissions = 0o755): boolean {
    try {
      mkdirSync(this.at(name), permissions);
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
      throw error;
    }
  }

  /** Names of all entries; none where the folder was removed. */
  list(): string[] {
    return readdirSync(this.at('.'));
  }

  /** Names of all entries, a character for each byte: a name may be no UTF-8. */
  rawNames(): string[] {
    return readdirSync(this.at('.'), { encoding: 'latin1' });
  }

  /** The path of an entry by such a name. */
  rawPath(rawName: string): Buffer {
    return Buffer.concat([Buffer.from(this.at('')), Buffer.from(rawName, 'latin1')]);
  }

  /** Removes a file or a link, never a folder; gives whether it was there. */
  unlink(name: string): boolean {
    return succeeds(() => unlinkSync(this.at(name)), ['ENOENT']);
  }

  /** The same without a look before; gives false where a folder is there. */
  unlinkUnlessFolder(name: string): boolean {
    try {
      this.unlink(name);
      return true;
    } catch (error) {
      if (lstatSync(this.at(name), { throwIfNoEntry: false })?.isDirectory()) return false;
      throw error;
    }
  }

  /** Makes room for a file of the agent's own. A directory in its place stays, under another name. */
  makeRoom(name: string): void {
    if (!this.unlinkUnlessFolder(name)) renameSync(this.at(name), this.at(`${name}.${randomUUID()}`));
  }

  /** Removes an empty folder, never a link to one; gives whether it did. */
  removeFolder(name: string): boolean {
    return succeeds(() => rmdirSync(this.at(name)), ['ENOENT', 'ENOTEMPTY', 'EEXIST', 'ENOTDIR']);
  }

  /** Sets its permissions, if the volume keeps any; the group that a volume gives to new folders (setgid) stays. */
  permit(permissions: number): void {
    const { mode } = fstatSync(this.#descriptor);
    setMode(this.#descriptor, (mode & 0o7000) | permissions);
  }

  /** Sets the permissions of a directory in this one, as {@link permit} does. */
  permitBelow(name: string, permissions: number): void {
    using folder = this.open(name);
    folder.permit(permissions);
  }

  /** Whether it is what the path leads to. */
  isAt(path: string): boolean {
    const found = lstatSync(path, { bigint: true, throwIfNoEntry: false });
    const { ino, dev } = fstatSync(this.#descriptor, { bigint: true });
    return found?.ino === ino && found.dev === dev;
  }

  /** Sees to it that the names in it are on the disk. */
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

/** That of this process where /proc is mounted, whose numbers may be others than its own. */
function ownNumber(): string {
  try {
    return readlinkSync('/proc/self');
  } catch {
    return 'self';
  }
}

/** Runs a call, and gives false where it fails with one of these codes. */
function succeeds(call: () => void, codes: string[]): boolean {
  try {
    call();
    return true;
  } catch (error) {
    if (codes.includes((error as NodeJS.ErrnoException).code ?? '')) return false;
    throw error;
  }
}
