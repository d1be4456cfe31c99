import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { AGENT_DIRECTORY } from '../../shared/api/names.ts';
import { isWithin } from '../../shared/domain/relative-path.ts';
import { TerminalError, TransientError } from '../../shared/errors.ts';
import type { Manifest, TreeRecord } from '../plan/manifest.ts';
import { USUAL_TRAITS, type VolumeTraits } from '../plan/volume-traits.ts';
import { Directory } from './directory.ts';
import { split } from './move.ts';
import { PASSABLE, PRIVATE } from './protect-directory.ts';

/** The agent's directory with the trees that destinations link to. */
export const TREES = 'trees';

/** Maximum length of a path in Linux (bytes). */
const MAX_PATH = 4095;

/** Codes for a missing entry, or one that a link or an impossible name makes unreachable. */
const ABSENT = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG', 'data.symbolicLink']);

/** The root of the data volume, and the only place that turns relative paths into real ones. */
export class DataRoot {
  readonly path: string;
  readonly agentDirectory: string;
  /** Handling of names and modes by the volume; known once its lock was held. */
  traits: VolumeTraits | undefined;
  /** Links to trees, as in the manifest. */
  trees: ReadonlyMap<string, TreeRecord> = new Map();
  readonly #root: Directory;

  private constructor(path: string) {
    this.path = path;
    this.agentDirectory = join(path, AGENT_DIRECTORY);
    this.#root = Directory.openAt(path);
  }

  /** Resolves the root once. Links in its own path belong to the mount; links below it aren't followed. */
  static async open(path: string): Promise<DataRoot> {
    return new DataRoot(await realpath(path));
  }

  /** Must run before a scan by path, because writes go to the opened directory. Throws {@link TransientError}. */
  checkPlace(): void {
    if (this.#root.isAt(this.path)) return;
    throw new TransientError(
      `the directory at ${this.path} was replaced or removed after the agent started: restore it, or recreate the pod to deliver to the new one`,
      { code: 'data.replaced', reason: 'VolumeUnusable' },
    );
  }

  /** Returns the path at which the agent keeps the file of a path: another one if a link to a tree is on the way. */
  placeOf(path: string): string {
    for (const [destination, { tree }] of this.trees) {
      if (isWithin(path, destination)) return `${AGENT_DIRECTORY}/${TREES}/${tree}${path.slice(destination.length)}`;
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
    const absolute = this.absolute(this.placeOf(path));
    if (Buffer.byteLength(absolute) > MAX_PATH) return this.lookInside(path, run);
    return unlessAbsent(() => run(absolute));
  }

  /** Does the same through open directories only, which ignores anything behind a link. */
  lookInside<T>(path: string, run: (path: string) => T): T | undefined {
    const [parent, name] = split(this.placeOf(path));
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

  /** Opens the parent of the directories with the agent's files; undefined if it is missing. Throws {@link TerminalError} for another kind of entry. */
  findAgentDirectory(): Directory | undefined {
    try {
      return this.#root.open(AGENT_DIRECTORY);
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT') return undefined;
      throw NO_DIRECTORY.has(code) ? noAgentDirectory(this.agentDirectory, error) : error;
    }
  }

  /** Opens a directory with the agent's files, and creates it if necessary; `''` is the parent of the others. */
  openAgentDirectory(name: string): Directory {
    if (name === '') return openOwn(this.#root, AGENT_DIRECTORY, PASSABLE);
    using parent = this.openAgentDirectory('');
    return openOwn(parent, name, name === TREES ? PASSABLE : PRIVATE);
  }
}

function openOwn(parent: Directory, name: string, permissions: number): Directory {
  const isNew = parent.make(name, permissions);
  try {
    const directory = parent.open(name);
    if (isNew) directory.permit(permissions);
    return directory;
  } catch (cause) {
    const isNoDirectory = NO_DIRECTORY.has((cause as NodeJS.ErrnoException).code ?? '');
    throw isNoDirectory ? noAgentDirectory(parent.pathOf(name), cause) : cause;
  }
}

/** Codes that prove that the entry is of another kind; other errors don't. */
const NO_DIRECTORY = new Set(['ENOTDIR', 'data.symbolicLink']);

/** An error for another kind of entry in the place of a directory with the agent's files. */
const noAgentDirectory = (path: string, cause: unknown) =>
  new TerminalError(`${path} must be a directory because it holds the agent's files: remove it`, {
    code: 'data.agentFolder',
    reason: 'PathConflict',
    cause,
  });

/** Returns undefined if nothing is at the path, or another kind of entry is on the way. */
export function unlessAbsent<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch (error) {
    if (ABSENT.has((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
}
