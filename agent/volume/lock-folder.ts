import { lstatSync, rmdirSync, unlinkSync } from 'node:fs';
import { opendir } from 'node:fs/promises';
import { Pacer } from '../../shared/io/pacer.ts';
import type { DataRoot } from './data-root.ts';
import type { Folder } from './folder.ts';
import { isProbe } from './probe-volume.ts';
import { putAside } from './set-aside.ts';
import { KEPT, LAST_GENERATION } from './staging.ts';

/** The folder with the locks. */
export const LOCK = 'lock';

export const nameOf = (generation: number): string => `${generation}.json`;

/** That of a lock; 0 for what is none. */
export const numberOf = (name: string): number => Number(/^([1-9]\d{0,14})\.json$/.exec(name)?.[1] ?? 0);

/** What an agent writes before it takes the lock. */
export const draftOf = (podUid: string): string => `${podUid}.new`;

/** A draft, or what NFS calls a file that was removed while an agent has it open. */
const TRANSIENT = /^(?:[\w-]+\.new|\.nfs[\da-f]+)$/;
/** So many of these are left to the agents that they belong to. */
const MOST_TRANSIENT = 100;
/** So much that is somebody else's is put aside at once. What is beyond goes: nobody keeps files here. */
const MOST_KEPT = 100;
/** Names that are read at once. */
const NAMES = 512;

/**
 * Takes away what is no lock, since each look at the lock reads all names: folders, numbers that are too high, and what
 * no agent writes. In slices, and name by name: a gateway can make more of them than there is memory for.
 */
export async function clearLockFolder(folder: Folder, root: DataRoot): Promise<void> {
  const clearing = new Clearing(root);
  const pacer = new Pacer();
  // A character for each byte: a name may be no UTF-8.
  for await (const { name } of await opendir(folder.at('.'), { encoding: 'latin1', bufferSize: NAMES })) {
    clearing.take(folder.rawPath(name), Buffer.from(name, 'latin1').toString());
    if (pacer.isDue) await pacer.rest();
  }
}

class Clearing {
  readonly #root: DataRoot;
  #transient = 0;
  #foreign = 0;

  constructor(root: DataRoot) {
    this.#root = root;
  }

  take(path: Buffer, name: string): void {
    const isFolder = lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
    const kind = isFolder ? 'foreign' : kindOf(name);
    if (kind === 'over') remove(path);
    if (kind === 'transient') {
      this.#transient += 1;
      if (this.#transient > MOST_TRANSIENT) remove(path);
    }
    if (kind === 'foreign') {
      this.#foreign += 1;
      const isGone = this.#foreign > MOST_KEPT && remove(path, isFolder);
      if (!isGone) this.#keep(path, name);
    }
  }

  #keep(path: Buffer, name: string): void {
    const kept = this.#root.openAgentFolder(KEPT);
    try {
      unlessGone(() => putAside(path, { staging: LOCK, name, kept }));
    } finally {
      kept.close();
    }
  }
}

/** What a file is by its name: to be left alone, an agent's for a moment, a number that is too high, or somebody else's. */
function kindOf(name: string): 'own' | 'transient' | 'over' | 'foreign' {
  const number = numberOf(name);
  if (number > 0) return number > LAST_GENERATION ? 'over' : 'own';
  if (isProbe(name)) return 'own';
  return TRANSIENT.test(name) ? 'transient' : 'foreign';
}

/** Gives false where something else is there by now, or the folder holds something. */
function remove(path: Buffer, isFolder = false): boolean {
  try {
    unlessGone(() => (isFolder ? rmdirSync(path) : unlinkSync(path)));
    return true;
  } catch (error) {
    if (NOT_REMOVED.includes((error as NodeJS.ErrnoException).code ?? '')) return false;
    throw error;
  }
}

const NOT_REMOVED = ['EISDIR', 'EPERM', 'EBUSY', 'ENOTDIR', 'ENOTEMPTY', 'EEXIST'];

/** Another agent may clear the folder at the same time. */
function unlessGone(run: () => void): void {
  try {
    run();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
