import { randomUUID } from 'node:crypto';
import { lstatSync, readlinkSync, renameSync, symlinkSync } from 'node:fs';
import { posix } from 'node:path';
import { AGENT_DIRECTORY, POD_ANNOTATIONS } from '../../shared/api/names.ts';
import { isWithin, joinPath } from '../../shared/domain/relative-path.ts';
import { TerminalError, WaitingError } from '../../shared/errors.ts';
import { makeBelow, noAgentDirectory, openOwn } from './agent-directory.ts';
import { changed } from './changed.ts';
import type { Directory } from './directory.ts';
import { split } from './move.ts';
import { PASSABLE } from './protect-directory.ts';

/** The place of the data and of the agent's own files, by their paths below the mounted directory. */
export interface Layout {
  /** If omitted, the mounted directory. */
  data?: string | undefined;
  /** If omitted, `.sync-agent` in the data. */
  state?: string | undefined;
}

/** Start of the text of the link that takes the place of `.sync-agent`. The text isn't a path, so no program follows it. */
const MARK = `${POD_ANNOTATIONS.stateDirectory}=`;
/** A link in a directory elsewhere: its text, which isn't a path either, names the data that the directory belongs to. */
const OWNER = 'data-root';
const OWNER_MARK = `${OWNER}=`;
/** Delay until an agent tries again, after another one has changed the directory (ms). */
const RETRY_MS = 5_000;

/**
 * The directory with the agent's own files: `.sync-agent` in the data, or one elsewhere in the volume. In the second
 * case, a link named `.sync-agent` keeps out agents that would use the first one, and the directory names its data.
 */
export class StateDirectory {
  readonly #volume: Directory;
  readonly #openRoot: () => Directory;
  readonly #data: string;
  readonly #usual: string;
  /** Its place elsewhere; undefined for the usual one. */
  readonly #named: string | undefined;

  constructor(volume: Directory, openRoot: () => Directory, { data = '', state }: Layout) {
    this.#volume = volume;
    this.#openRoot = openRoot;
    this.#data = data;
    this.#usual = joinPath(data, AGENT_DIRECTORY);
    this.#named = state === this.#usual ? undefined : state;
  }

  /** Its current path in the volume. Until it is moved, the usual one remains in use. Throws if it is at a third place. */
  get path(): string {
    const stats = lstatSync(this.#mark, { throwIfNoEntry: false });
    if (stats?.isDirectory()) return this.#usual;
    const text = linkText(this.#mark);
    if (text?.startsWith(MARK) && text !== `${MARK}${this.#named}`)
      throw elsewhere(text.slice(MARK.length), this.#usual);
    if (stats && this.#named !== undefined && !text?.startsWith(MARK)) throw noAgentDirectory(this.#usual);
    return this.#named ?? this.#usual;
  }

  /** Its future path in the data; undefined if it is outside, or the usual one. */
  get reserved(): string | undefined {
    if (this.#named === undefined || !isWithin(this.#named, this.#data)) return undefined;
    return posix.relative(`/${this.#data}`, `/${this.#named}`);
  }

  /** Whether links in the data can lead into it wherever the data is mounted. */
  get isInData(): boolean {
    return this.#named === undefined || this.reserved !== undefined;
  }

  /** Whether it has to be moved to the place that the pod's annotation names. */
  get isToMove(): boolean {
    return this.#named !== undefined && this.path === this.#usual;
  }

  /** Whether agents with another annotation, or without one, are kept out. */
  get isClaimed(): boolean {
    return this.path === this.#usual || linkText(this.#mark) === `${MARK}${this.#named}`;
  }

  /** Opens it if it exists. */
  openExisting(): Directory {
    const path = this.path;
    return path === this.#usual ? this.#root.open(AGENT_DIRECTORY) : this.#volume.openBelow(path);
  }

  /** Opens it, and creates it if necessary. Throws if the directory at its path isn't the agent's. */
  open(): Directory {
    const path = this.path;
    const [parent, name] = split(path);
    using above = path === this.#usual ? this.#root.open('') : makeBelow(this.#volume, parent);
    const directory = openOwn(above, name, PASSABLE);
    try {
      if (path !== this.#usual) this.#occupy(directory, path);
      return directory;
    } catch (error) {
      directory.close();
      throw error;
    }
  }

  /** Keeps out agents that would use another directory for the same data. */
  claim(): void {
    if (this.isClaimed) return;
    this.open().close();
    const mark = `${MARK}${this.#named}`;
    if (makeLink(mark, this.#mark) !== mark) throw replaced(this.#usual);
    this.#root.flush();
  }

  /** Moves it to the place that the annotation names. The lock in it must be held: it moves as well. */
  move(): void {
    const [parent, name] = split(this.#named ?? '');
    using target = makeBelow(this.#volume, parent);
    using own = this.open();
    this.#occupy(own, this.#usual, { isKnown: true });
    this.#vacate(target, name);
    try {
      renameSync(this.#mark, target.at(name));
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException;
      throw OCCUPIED.has(code) ? this.#occupied(target, name) : error;
    }
    if (!own.isAt(target.at(name))) {
      this.#moveBack(target.at(name));
      throw changed(this.#usual);
    }
    target.flush();
    this.claim();
  }

  /** Returns an entry that replaced the directory right before the move: the gateway might not mount its new place. */
  #moveBack(path: string): void {
    try {
      renameSync(path, this.#mark);
    } catch {
      renameSync(path, this.#root.at(`${AGENT_DIRECTORY}.${randomUUID()}`));
    }
  }

  get #root(): Directory {
    return this.#openRoot();
  }

  get #mark(): string {
    return this.#root.at(AGENT_DIRECTORY);
  }

  get #owner(): string {
    return this.#data || '.';
  }

  /** Notes the data in it, unless the directory has files of others. */
  #occupy(directory: Directory, place: string, { isKnown = false } = {}): void {
    const isFree = isKnown || directory.list().length === 0;
    if (isFree) makeLink(`${OWNER_MARK}${this.#owner}`, directory.at(OWNER));
    const owner = ownerOf(directory);
    if (owner !== this.#owner) throw foreign(place, owner);
  }

  /** Frees the place of a directory that another agent created for the same data, and didn't use. */
  #vacate(target: Directory, name: string): void {
    if (!lstatSync(target.at(name), { throwIfNoEntry: false })?.isDirectory()) return;
    using directory = target.open(name);
    if (directory.list().length === 1 && ownerOf(directory) === this.#owner) directory.unlink(OWNER);
  }

  /** Describes the entry at the place that the directory should move to. */
  #occupied(target: Directory, name: string): TerminalError {
    const path = this.#named ?? '';
    if (!lstatSync(target.at(name), { throwIfNoEntry: false })?.isDirectory()) return occupied(path, this.#usual);
    using directory = target.open(name);
    return ownerOf(directory) === this.#owner ? twoRecords(path, this.#usual) : occupied(path, this.#usual);
  }
}

/** Codes for a path that a directory can't move to. */
const OCCUPIED = new Set(['ENOTEMPTY', 'EEXIST', 'ENOTDIR']);
/** Codes for a link that doesn't exist, and for another kind of entry. */
const NO_LINK = new Set(['ENOENT', 'EINVAL']);
/** Codes of a volume without symbolic links. */
const UNSUPPORTED = new Set(['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP', 'EINVAL']);

/** Returns the text of a link; undefined if there is none. */
export function linkText(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch (error) {
    if (NO_LINK.has((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
}

/** Returns the data that a directory names; undefined if it names none. */
function ownerOf(directory: Directory): string | undefined {
  const text = linkText(directory.at(OWNER));
  return text?.startsWith(OWNER_MARK) ? text.slice(OWNER_MARK.length) : text;
}

/** Creates a link unless the path is taken. Returns the text of the link that is there. */
function makeLink(text: string, path: string): string | undefined {
  try {
    symlinkSync(text, path);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (UNSUPPORTED.has(code)) throw noLinks(error);
    if (code !== 'EEXIST') throw error;
  }
  return linkText(path);
}

const stateError = (message: string, cause?: unknown) =>
  new TerminalError(message, { code: 'data.stateDirectory', reason: 'VolumeUnusable', cause });

/** Maximum quoted characters of a link. */
const MAX_QUOTED = 200;

/** Quotes the text of a link, which the gateway can write, unless it is a plain path. */
const quoted = (text: string): string =>
  text.length <= MAX_QUOTED && /^[\w./-]+$/.test(text)
    ? text
    : JSON.stringify(text.slice(0, MAX_QUOTED).replace(/\p{C}/gu, '?'));

const elsewhere = (state: string, usual: string) =>
  stateError(
    `the agent's files are in another directory of the volume: set the pod annotation ${POD_ANNOTATIONS.stateDirectory} to ${quoted(state)}, or remove ${usual} and that directory to start without a record of the delivered files, but move your files out of its subdirectory taken-over and remove the links at atomic destinations before`,
  );

const foreign = (path: string, owner: string | undefined) =>
  stateError(
    owner === undefined
      ? `${path} has files that aren't the agent's: specify another directory in the pod annotation ${POD_ANNOTATIONS.stateDirectory}`
      : `${path} belongs to the data in ${owner === '.' ? 'the root' : owner} of the volume: specify another directory in the pod annotation ${POD_ANNOTATIONS.stateDirectory}, or remove ${path}/${OWNER} if that data was moved here`,
  );

const occupied = (path: string, usual: string) =>
  stateError(
    `${usual} can't be moved to ${path}, because something exists there: remove it, or specify another directory in the pod annotation ${POD_ANNOTATIONS.stateDirectory}`,
  );

const twoRecords = (path: string, usual: string) =>
  stateError(
    `both ${path} and ${usual} list files that were delivered to this data; ${usual} is usually newer, and doesn't list the earlier files: remove one of them, but move your files out of its subdirectory taken-over before`,
  );

const noLinks = (cause: unknown) =>
  stateError(
    `the pod annotation ${POD_ANNOTATIONS.stateDirectory} requires symbolic links, and this volume doesn't support them: remove the annotation`,
    cause,
  );

const replaced = (path: string) =>
  new WaitingError(`another agent has just created ${path}; trying again`, {
    code: 'data.inUse',
    reason: 'VolumeInUse',
    retryAfterMs: RETRY_MS,
  });
