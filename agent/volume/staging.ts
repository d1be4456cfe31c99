import { randomUUID } from 'node:crypto';
import { lstatSync, renameSync } from 'node:fs';
import { TransientError } from '../../shared/errors.ts';
import { Pacer } from '../../shared/io/pacer.ts';
import type { Folder } from './folder.ts';
import { removeTree } from './remove-tree.ts';
import { isExpendable, isNewFolder, isOwn, putAside } from './set-aside.ts';

/** Opens a folder with the agent's own files. */
interface AgentFolders {
  /** The path of the folder that holds them. */
  readonly agentFolder: string;
  openAgentFolder(name: string): Folder;
}

/**
 * The highest number of a lock. Nobody counts to it: an owner has it only after somebody put a file with the number
 * below it there, and the next owner begins again above all others. What has a higher number is no lock.
 */
export const LAST_GENERATION = 999_999_999_999;

const STAGING = 'staging';
/** Where what is somebody else's is put. */
export const KEPT = 'taken-over';
/** Times that a folder is emptied before it counts as one that somebody goes on filling. */
const ATTEMPTS = 100;

/**
 * The folder, on the data volume's own file system, that every file of this agent passes on its way in or out. It has
 * the number of the lock in its name. Whoever takes over the lock removes it first, so that no move of the earlier
 * owner can succeed any more.
 */
export class Staging {
  readonly #root: AgentFolders;
  readonly #name: string;
  readonly #folder: Folder;

  private constructor(root: AgentFolders, name: string, folder: Folder) {
    this.#root = root;
    this.#name = name;
    this.#folder = folder;
  }

  /** Makes the folder of an owner of the lock: `generation` is the number of the lock. */
  static make(root: AgentFolders, generation: number, podUid: string): Staging {
    const name = `${generation}.${podUid.replace(/[^\w-]/g, '').slice(0, 64)}`;
    const all = root.openAgentFolder(STAGING);
    try {
      all.make(name);
      return new Staging(root, name, all.open(name));
    } finally {
      all.close();
    }
  }

  get folder(): Folder {
    return this.#folder;
  }

  /** The folder as a path of this process. */
  get path(): string {
    return this.#folder.at('.');
  }

  at(name: string): string {
    return this.#folder.at(name);
  }

  /** Moves an entry to a path; gives false where it could not be moved. */
  tryMove(name: string, target: string): boolean {
    try {
      renameSync(this.at(name), target);
      return true;
    } catch {
      return false;
    }
  }

  /** Whether nobody removed it, or moved it to where the next owner of the lock would not find it. */
  get isAlive(): boolean {
    return this.#folder.isAlive && this.#folder.isAt(`${this.#root.agentFolder}/${STAGING}/${this.#name}`);
  }

  async empty(): Promise<void> {
    await emptyFolder(this.#root, this.#name, this.#folder);
  }

  /** Removes it with everything in it. */
  async remove(): Promise<void> {
    await this.empty();
    const all = this.#root.openAgentFolder(STAGING);
    all.removeFolder(this.#name);
    all.close();
  }

  close(): void {
    this.#folder.close();
  }
}

/** The numbers of owners whose folders are there. */
export function stagingNumbers(root: AgentFolders): number[] {
  const all = root.openAgentFolder(STAGING);
  try {
    return all.list().map(numberOf);
  } finally {
    all.close();
  }
}

/** That of the lock that its owner had; 0 for what no owner made. */
function numberOf(name: string): number {
  const number = Number(/^(\d{1,15})\./.exec(name)?.[1] ?? 0);
  return number <= LAST_GENERATION ? number : 0;
}

/**
 * Removes the folders of earlier owners. When this resolves, none of them can move a file any more: neither is
 * anything left that could be moved in, nor a place to which something could be moved away.
 */
export async function removeEarlierStaging(root: AgentFolders, generation: number): Promise<void> {
  const all = root.openAgentFolder(STAGING);
  const pacer = new Pacer();
  try {
    for (const name of all.list()) {
      // What a later owner made is not to be touched by one who was held up here.
      const number = numberOf(name);
      if (number >= generation && number < LAST_GENERATION) continue;
      if (WITHDRAWN.test(name)) await discard(root, all, name);
      else await removeFolder(root, all, name);
      if (pacer.isDue) await pacer.rest();
    }
  } finally {
    all.close();
  }
}

/** What an earlier owner had in its folder, out of its reach. */
const WITHDRAWN = /^withdrawn-[\da-f-]{36}$/;

async function removeFolder(root: AgentFolders, all: Folder, name: string): Promise<void> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    if (!lstatSync(all.at(name), { throwIfNoEntry: false })?.isDirectory()) {
      all.unlink(name);
      return;
    }
    const folder = all.open(name);
    try {
      await withdrawNewFolders(root, all, folder);
      await emptyFolder(root, name, folder);
    } finally {
      folder.close();
    }
    if (all.removeFolder(name) || !lstatSync(all.at(name), { throwIfNoEntry: false })) return;
  }
  throw new TransientError(`somebody goes on writing to .sync-agent/${STAGING}/${name}`, {
    code: 'data.staging',
    reason: 'VolumeInUse',
  });
}

/**
 * An earlier owner that was held up could bring a new folder to its place while it is emptied, and somebody else a file
 * into it, which would be removed as well. So the folder is taken out of its reach first.
 */
async function withdrawNewFolders(root: AgentFolders, all: Folder, folder: Folder): Promise<void> {
  for (const entry of folder.isAlive ? folder.rawNames().filter(isNewFolder) : []) {
    const name = `withdrawn-${randomUUID()}`;
    if (all.take(folder.at(entry), name)) await discard(root, all, name);
  }
}

/** What cannot be removed was made by somebody else. */
async function discard(root: AgentFolders, all: Folder, name: string): Promise<void> {
  await removeTree(all, name);
  takeOut(name, { root, name: STAGING, folder: all });
}

/** Only what is known to be the agent's is removed. Anything else was caught while it took the place of a file: it is put aside. */
async function emptyFolder(root: AgentFolders, name: string, folder: Folder): Promise<void> {
  const pacer = new Pacer();
  for (const entry of folder.isAlive ? folder.rawNames() : []) {
    if (isNewFolder(entry)) await removeTree(folder, entry);
    if (!isOwn(entry) || !folder.unlinkUnlessFolder(entry)) takeOut(entry, { root, name, folder });
    if (pacer.isDue) await pacer.rest();
  }
}

function takeOut(entry: string, { root, name, folder }: { root: AgentFolders; name: string; folder: Folder }): void {
  const path = folder.rawPath(entry);
  const stats = lstatSync(path, { throwIfNoEntry: false });
  const text = path.toString().slice(folder.at('').length);
  if (stats && isExpendable(text, stats)) folder.unlink(text);
  else if (stats) {
    const kept = root.openAgentFolder(KEPT);
    try {
      putAside(path, { staging: name, name: text, kept });
    } finally {
      kept.close();
    }
  }
}
