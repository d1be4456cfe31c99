import { randomUUID } from 'node:crypto';
import { renameSync } from 'node:fs';
import { posix } from 'node:path';
import { AGENT_DIRECTORY } from '../../shared/api/names.ts';
import { isWithin, joinPath } from '../../shared/domain/files/relative-path.ts';
import { codeOf } from '../../shared/errors.ts';
import { makeBelow, noAgentDirectory, openOwn } from './agent-directory.ts';
import { changed } from './changed.ts';
import type { Directory } from './directory.ts';
import { split } from './move.ts';
import { PASSABLE } from './protect-directory.ts';
import { statOf } from './seen-file.ts';
import { elsewhere, foreign, occupied, replaced, twoRecords } from './state-errors.ts';
import { linkOwner, linkState, OWNER, ownerOf, stateAt } from './state-links.ts';

/** The place of the data and of the agent's own files, by their paths below the mounted directory. */
export interface Layout {
  /** If omitted, the mounted directory. */
  data?: string | undefined;
  /** If omitted, `.sync-agent` in the data. */
  state?: string | undefined;
}

/** Codes for a path that a directory can't move to. */
const OCCUPIED = new Set(['ENOTEMPTY', 'EEXIST', 'ENOTDIR']);

/**
 * The directory with the agent's own files: `.sync-agent` in the data, or one elsewhere in the volume. In the second
 * case, a link named `.sync-agent` keeps out agents that would use the first one, and the directory names its data.
 */
export class StateDirectory {
  readonly #volume: Directory;
  readonly #openRoot: () => Directory;
  readonly #data: string;
  /** Text for its data in a directory elsewhere. */
  readonly #owner: string;
  readonly #usual: string;
  /** The place that the pod's annotation names; without one, the usual place. */
  readonly #place: string;

  constructor(volume: Directory, openRoot: () => Directory, { data = '', state }: Layout) {
    this.#volume = volume;
    this.#openRoot = openRoot;
    this.#data = data;
    this.#owner = data || '.';
    this.#usual = joinPath(data, AGENT_DIRECTORY);
    this.#place = state ?? this.#usual;
  }

  /** Its current path in the volume. Until it is moved, the usual one remains in use. Throws if it is at a third place. */
  get path(): string {
    const stats = statOf(this.#mark);
    if (stats?.isDirectory()) return this.#usual;
    const state = stateAt(this.#mark);
    if (state !== undefined && state !== this.#place) throw elsewhere(state, this.#usual);
    if (stats && state === undefined && this.#place !== this.#usual) throw noAgentDirectory(this.#usual);
    return this.#place;
  }

  /** Its future path in the data; undefined if it is outside, or the usual one. */
  get reserved(): string | undefined {
    if (this.#place === this.#usual || !this.isInData) return undefined;
    return posix.relative(`/${this.#data}`, `/${this.#place}`);
  }

  /** Whether links in the data can lead into it wherever the data is mounted. */
  get isInData(): boolean {
    return isWithin(this.#place, this.#data);
  }

  /** Whether it has to be moved to the place that the pod's annotation names. */
  get isToMove(): boolean {
    return this.#place !== this.#usual && this.path === this.#usual;
  }

  /** Whether agents with another annotation, or without one, are kept out. */
  get isClaimed(): boolean {
    return this.path === this.#usual || stateAt(this.#mark) === this.#place;
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
    linkState(this.#mark, this.#place);
    if (stateAt(this.#mark) !== this.#place) throw replaced(this.#usual);
    this.#root.flush();
  }

  /** Moves it to the place that the annotation names. The lock in it must be held: it moves as well. */
  move(): void {
    const [parent, name] = split(this.#place);
    using target = makeBelow(this.#volume, parent);
    using own = this.open();
    this.#occupy(own, this.#usual, { isKnown: true });
    this.#vacate(target, name);
    try {
      renameSync(this.#mark, target.at(name));
    } catch (error) {
      throw OCCUPIED.has(codeOf(error)) ? occupied(this.#place, this.#usual) : error;
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

  /** Notes the data in it, unless the directory has files of others. */
  #occupy(directory: Directory, place: string, { isKnown = false } = {}): void {
    const isFree = isKnown || directory.list().length === 0;
    if (isFree) linkOwner(directory, this.#owner);
    const owner = ownerOf(directory);
    if (owner !== this.#owner) throw foreign(place, owner);
  }

  /** Frees the place of a directory that another agent created for the same data, and didn't use. */
  #vacate(target: Directory, name: string): void {
    if (!statOf(target.at(name))?.isDirectory()) return;
    using directory = target.open(name);
    if (ownerOf(directory) !== this.#owner) return;
    if (directory.list().length > 1) throw twoRecords(this.#place, this.#usual);
    directory.unlink(OWNER);
  }
}
