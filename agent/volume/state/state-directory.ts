import { posix } from 'node:path';
import { AGENT_DIRECTORY } from '../../../shared/api/names.ts';
import { isWithin, joinPath, splitPath } from '../../../shared/domain/files/relative-path.ts';
import type { Directory } from '../../disk/directory.ts';
import { statOf } from '../../disk/seen-file.ts';
import { makeBelow, noAgentDirectory, openOwn } from './agent-directory.ts';
import { JOURNAL, MANIFEST, PASSABLE } from './protect-directory.ts';
import { foreign, replaced, stateElsewhere, stateInData } from './state-errors.ts';
import { linkOwner, linkState, ownerOf, stateAt } from './state-links.ts';

/** The place of the data and of the agent's own files, by their paths below the mounted directory. */
export interface Layout {
  /** If omitted, the mounted directory. */
  data?: string | undefined;
  /** If omitted, `.sync-agent` in the data. */
  state?: string | undefined;
}

/**
 * The directory with the agent's own files: `.sync-agent` in the data, or one elsewhere in the volume. In the second
 * case, a link named `.sync-agent` keeps out agents that would use the first one, and the directory names its data. The
 * place is chosen once: only users move the directory.
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

  /** Its path in the volume. */
  get path(): string {
    return this.#place;
  }

  /** Throws if the volume has one at another path. */
  check(): void {
    const stats = statOf(this.#mark);
    const isUsual = this.#place === this.#usual;
    if (stats?.isDirectory() && !isUsual) {
      const has = (name: string) => statOf(`${this.#mark}/${name}`) !== undefined;
      const isComplete = has(MANIFEST) && !has(JOURNAL);
      throw stateInData({ data: this.#data, usual: this.#usual, place: this.#place, isComplete });
    }
    const state = stateAt(this.#mark);
    if (state !== undefined && state !== this.#place) throw stateElsewhere(state, this.#usual);
    if (stats && state === undefined && !isUsual) throw noAgentDirectory(this.#usual);
  }

  /** Its path in the data; undefined if it is outside, or the usual one. */
  get reserved(): string | undefined {
    if (this.#place === this.#usual || !this.isInData) return undefined;
    return posix.relative(`/${this.#data}`, `/${this.#place}`);
  }

  /** Whether links in the data can lead into it wherever the data is mounted. */
  get isInData(): boolean {
    return isWithin(this.#place, this.#data);
  }

  /** Whether agents with another annotation, or without one, are kept out. */
  isClaimed(): boolean {
    this.check();
    return this.path === this.#usual || stateAt(this.#mark) === this.#place;
  }

  /** Opens it if it exists. */
  openExisting(): Directory {
    this.check();
    const { path } = this;
    return path === this.#usual ? this.#root.open(AGENT_DIRECTORY) : this.#volume.openBelow(path);
  }

  /** Opens it, and creates it if necessary. Throws if the directory at its path isn't the agent's. */
  open(): Directory {
    this.check();
    const { path } = this;
    const [parent, name] = splitPath(path);
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
    if (this.isClaimed()) return;
    this.open().close();
    linkState(this.#mark, this.#place);
    if (stateAt(this.#mark) !== this.#place) throw replaced(this.#usual);
    this.#root.flush();
  }

  get #root(): Directory {
    return this.#openRoot();
  }

  get #mark(): string {
    return this.#root.at(AGENT_DIRECTORY);
  }

  /** Notes the data in it, unless the directory has files of others. */
  #occupy(directory: Directory, place: string): void {
    if (directory.list().length === 0) linkOwner(directory, this.#owner);
    const owner = ownerOf(directory);
    if (owner !== this.#owner) throw foreign(place, owner);
  }
}
