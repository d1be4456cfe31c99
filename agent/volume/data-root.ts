import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { AGENT_DIRECTORY } from '../../shared/api/names.ts';
import { TerminalError, TransientError } from '../../shared/errors.ts';
import type { Manifest } from '../plan/manifest.ts';
import { USUAL_TRAITS, type VolumeTraits } from '../plan/volume-traits.ts';
import { Folder } from './folder.ts';
import { PASSABLE, PRIVATE } from './protect-folder.ts';

/** Bytes that Linux takes for a path. */
const MAX_PATH = 4095;

/** What says that nothing is at a path, or not in a way that may be gone: a link, or a name that no file can have. */
const ABSENT = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG', 'data.symbolicLink']);

/** The root of the data volume, and the only place that turns relative paths into real ones. */
export class DataRoot {
  readonly path: string;
  readonly agentFolder: string;
  /** What the volume does with names and modes; known once its lock was held. */
  traits: VolumeTraits | undefined;
  readonly #root: Folder;

  private constructor(path: string) {
    this.path = path;
    this.agentFolder = join(path, AGENT_DIRECTORY);
    this.#root = Folder.openAt(path);
  }

  /** Resolves the root once; links in the path to it are the mount's business, links below it are not followed. */
  static async open(path: string): Promise<DataRoot> {
    return new DataRoot(await realpath(path));
  }

  /** To come before a look by path: the folder that was opened is what is written to. Throws {@link TransientError}. */
  checkPlace(): void {
    if (this.#root.isAt(this.path)) return;
    throw new TransientError(
      `the directory at ${this.path} was replaced or removed after the agent started: restore it, or recreate the pod to deliver to the new one`,
      { code: 'data.replaced', reason: 'VolumeUnusable' },
    );
  }

  /** The real path of a relative one in normal form; says nothing about links on the way: for looks, not for changes. */
  absolute(path: string): string {
    return path === '' ? this.path : `${this.path}/${path}`;
  }

  /**
   * Does something with the path of an entry, by a relative one in normal form, until it returns. A path that is longer
   * than the system takes leads through an open folder. Gives undefined where nothing is, or something else on the way.
   */
  look<T>(path: string, run: (path: string) => T): T | undefined {
    const absolute = this.absolute(path);
    if (Buffer.byteLength(absolute) > MAX_PATH) return this.lookInside(path, run);
    return unlessAbsent(() => run(absolute));
  }

  /** The same through open folders only: what lies behind a link is not there. */
  lookInside<T>(path: string, run: (path: string) => T): T | undefined {
    const name = path.lastIndexOf('/') + 1;
    return unlessAbsent(() => {
      using folder = this.openFolder(path.slice(0, Math.max(0, name - 1)));
      return run(folder.at(path.slice(name)));
    });
  }

  /** The traits of the volume. Before its lock is held, as in a dry run, those that the last sync noted. */
  traitsBy({ applied }: Pick<Manifest, 'applied'>): VolumeTraits {
    return this.traits ?? applied?.volume ?? USUAL_TRAITS;
  }

  /** Opens a folder by a relative path in normal form, to be closed. Throws {@link TerminalError} for a link on the way. */
  openFolder(path: string): Folder {
    return this.#root.openBelow(path);
  }

  /** Opens one of the folders with the agent's own files, and makes it if need be; `''` is the one that holds them. */
  openAgentFolder(name: string): Folder {
    if (name === '') return openOwn(this.#root, AGENT_DIRECTORY, PASSABLE);
    using parent = this.openAgentFolder('');
    return openOwn(parent, name, PRIVATE);
  }
}

function openOwn(parent: Folder, name: string, permissions: number): Folder {
  const isNew = parent.make(name, permissions);
  try {
    const folder = parent.open(name);
    if (isNew) folder.permit(permissions);
    return folder;
  } catch (cause) {
    const isNoFolder = NO_FOLDER.has((cause as NodeJS.ErrnoException).code ?? '');
    throw isNoFolder ? noAgentFolder(parent.pathOf(name), cause) : cause;
  }
}

/** What says that something else than a folder is there; any other error says nothing against what is. */
const NO_FOLDER = new Set(['ENOTDIR', 'data.symbolicLink']);

/** Something else is in the place of a folder with the agent's own files. */
export const noAgentFolder = (path: string, cause: unknown) =>
  new TerminalError(`${path} must be a directory because it holds the agent's files: remove it`, {
    code: 'data.agentFolder',
    reason: 'PathConflict',
    cause,
  });

/** Gives undefined if nothing is at the path of a look, or something else on the way. */
export function unlessAbsent<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch (error) {
    if (ABSENT.has((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
}
