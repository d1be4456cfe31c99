import { lstatSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { posix } from 'node:path';
import { POD_ANNOTATIONS } from '../../../shared/api/names.ts';
import { isWithin, splitPath } from '../../../shared/domain/files/relative-path.ts';
import { codeOf, TerminalError, TransientError } from '../../../shared/errors.ts';
import { Directory } from '../../disk/directory.ts';
import { unlessCode } from '../../disk/unless-code.ts';
import type { Manifest, TreeRecord } from '../../plan/manifest.ts';
import { USUAL_TRAITS, type VolumeTraits } from '../../plan/volume-traits.ts';
import { makeBelow, openOwn } from './agent-directory.ts';
import { PASSABLE, PRIVATE } from './protect-directory.ts';
import { type Layout, StateDirectory } from './state-directory.ts';

/** The agent's directory with the trees that destinations link to. */
export const TREES = 'trees';

/** Maximum length of a path in Linux (bytes). */
const MAX_PATH = 4095;

/** Codes for a missing entry, or one that a link or an impossible name makes unreachable. */
const ABSENT = ['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG', 'data.symbolicLink'];

/** The root of the data volume, and the only place that turns relative paths into real ones. */
export class DataRoot {
  readonly path: string;
  /** The directory with the agent's own files. */
  readonly state: StateDirectory;
  /** Handling of names and modes by the volume; known once its lock was held. */
  traits: VolumeTraits | undefined;
  readonly #mounted: Directory;
  #opened: Directory | undefined;
  /** The mounted directory. */
  readonly #volume: string;
  /** Path of the root below it. */
  readonly #data: string;
  #trees: ReadonlyMap<string, TreeRecord> = new Map();
  #placeOfTrees = '';

  private constructor(volume: string, layout: Layout) {
    const { data = '' } = layout;
    this.#volume = volume;
    this.#data = data;
    this.path = data === '' ? volume : `${volume}/${data}`;
    this.#mounted = Directory.openAt(volume);
    this.state = new StateDirectory(this.#mounted, () => this.#root, layout);
  }

  /** Resolves the mounted directory once. Links in its own path belong to the mount; links below it aren't followed. */
  static async open(path: string, layout: Layout = {}): Promise<DataRoot> {
    return new DataRoot(await realpath(path), layout);
  }

  /** Opened by the first sync, which can report an error. Throws {@link TerminalError}. */
  get #root(): Directory {
    this.#opened ??= openData(this.#mounted, this.#data);
    return this.#opened;
  }

  get agentDirectory(): string {
    return `${this.#volume}/${this.state.path}`;
  }

  /** Links to trees, as in the manifest. */
  get trees(): ReadonlyMap<string, TreeRecord> {
    return this.#trees;
  }

  set trees(trees: ReadonlyMap<string, TreeRecord>) {
    this.#trees = trees;
    if (trees.size > 0) this.#placeOfTrees = this.pathFrom('', TREES);
  }

  /** Returns the relative path from a directory of the data to one of the agent's. */
  pathFrom(directory: string, name: string): string {
    return posix.relative(`/${this.#data}/${directory}`, `/${this.state.path}/${name}`);
  }

  /** Must run before a scan by path, because writes go to the opened directory. Throws {@link TransientError}. */
  checkPlace(): void {
    if (this.#root.isAt(this.path)) return;
    const directory = this.#data === '' ? 'the root of the data volume' : `${this.#data} in the data volume`;
    throw new TransientError(
      `${directory} was replaced or removed after the agent started: restore it, or recreate the pod to deliver to the new one`,
      { code: 'data.replaced', reason: 'VolumeUnusable' },
    );
  }

  /** Returns the path at which the agent keeps the file of a path: another one if a link to a tree is on the way. */
  pathOnDisk(path: string): string {
    for (const [destination, { tree }] of this.trees) {
      if (isWithin(path, destination)) return `${this.#placeOfTrees}/${tree}${path.slice(destination.length)}`;
    }
    return path;
  }

  /** Returns the real path of a normalized relative one, which might contain links: only for reading. */
  absolute(path: string): string {
    return path === '' ? this.path : `${this.path}/${path}`;
  }

  /**
   * Calls a function with the path of an entry (normalized, relative), and returns its result. If the path is too long
   * for the system, it leads through an open directory. Undefined if there is no entry, or a link is on the way.
   */
  look<T>(path: string, run: (path: string) => T): T | undefined {
    const absolute = this.absolute(this.pathOnDisk(path));
    if (Buffer.byteLength(absolute) > MAX_PATH) return this.lookInside(path, run);
    return unlessAbsent(() => run(absolute));
  }

  /** Does the same through open directories only, which ignores anything behind a link. */
  lookInside<T>(path: string, run: (path: string) => T): T | undefined {
    const [parent, name] = splitPath(this.pathOnDisk(path));
    return unlessAbsent(() => {
      using directory = this.openDirectory(parent);
      return run(directory.at(name));
    });
  }

  /** Returns the traits of the volume; before its lock is held, as in a dry run, those recorded by the last sync. */
  traitsBy({ applied }: Pick<Manifest, 'applied'>): VolumeTraits {
    return this.traits ?? applied?.volume ?? USUAL_TRAITS;
  }

  /** Opens a directory by its real normalized relative path, not by one through a link to a tree; must be closed. Throws {@link TerminalError} for a link. */
  openDirectory(path: string): Directory {
    return this.#root.openBelow(path);
  }

  /** Checks whether the agent's directory has an entry of this name. */
  hasOwn(name: string): boolean {
    const look = () => {
      using directory = this.state.openExisting();
      return lstatSync(directory.at(name));
    };
    return unlessAbsent(look) !== undefined;
  }

  /** Opens a directory with the agent's files, and creates it if necessary; `''` is the parent of the others. */
  openAgentDirectory(name: string): Directory {
    if (name === '') return this.state.open();
    using parent = this.openAgentDirectory('');
    return openOwn(parent, name, name === TREES ? PASSABLE : PRIVATE);
  }
}

/** Returns undefined if nothing is at the path, or another kind of entry is on the way. */
export const unlessAbsent = <T>(look: () => T): T | undefined => unlessCode(ABSENT, look);

/**
 * Opens the directory that the gateway mounts, by its path in the volume. If necessary, creates it like the kubelet for a
 * subPath, which can do so only after this agent has started. Throws {@link TerminalError}.
 */
function openData(volume: Directory, path: string): Directory {
  try {
    return makeBelow(volume, path, volume.permissions);
  } catch (error) {
    const reason = REASONS[codeOf(error)];
    throw reason === undefined ? error : unusable(`${path} in the data volume ${reason}`, error);
  }
}

const NOT_ALLOWED =
  "can't be created or opened by the agent's user: create this directory for that user, or set fsGroup in the pod's securityContext";

/** Reasons by the error's code. */
const REASONS: Partial<Record<string, string>> = {
  EACCES: NOT_ALLOWED,
  EPERM: NOT_ALLOWED,
  ENOTDIR: `isn't a directory: mount a directory in the gateway, or remove the pod annotation ${POD_ANNOTATIONS.stateDirectory}`,
  'data.symbolicLink': `leads through a symbolic link, which the agent doesn't follow: specify the directory behind the link in the gateway's subPath, or remove the pod annotation ${POD_ANNOTATIONS.stateDirectory}`,
};

const unusable = (message: string, cause: unknown) =>
  new TerminalError(message, { code: 'data.unusable', reason: 'VolumeUnusable', cause });
