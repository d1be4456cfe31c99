import { lstatSync, renameSync } from 'node:fs';
import { Pacer } from '../../shared/io/pacer.ts';
import { type Fingerprint, isSameFingerprint, type KeptFile, type OwnedFile } from '../plan/manifest.ts';
import type { LiveEntry, LiveFile } from '../plan/plan-input.ts';
import type { DataRoot } from './data-root.ts';
import { HeldFolder } from './held-folder.ts';
import { folderPermissions, makeFolder } from './make-folder.ts';
import { changed, meanwhile } from './meanwhile.ts';
import { putNew, tryLink } from './put-new.ts';
import { fingerprintOf } from './scan-tree.ts';
import { isAsSeen, isSameFile, isUnchanged, printOf } from './seen-file.ts';
import { keepName, replacedName } from './set-aside.ts';
import { type Move, type Saved, split } from './undo-moves.ts';
import type { VolumeLock } from './volume-lock.ts';

/** A staged file that comes to its path. */
export interface Placement {
  /** Its name in the staging folder. */
  staged: string;
  record: OwnedFile;
  /** What was there when the plan was made. */
  was: LiveEntry | undefined;
  /** Name for what was there, where that is somebody else's and has to be kept. */
  keepAs: string | undefined;
}

/**
 * Moves files in and out of their places. Each step is noted before it is done, so that it can be taken back until the
 * staging folder is emptied. Nothing is replaced or removed but what the plan saw; paths lead through no link.
 */
export class FileMover {
  readonly #root: DataRoot;
  readonly #moves: Move[];
  readonly #lock: VolumeLock;
  readonly #permissions: number | undefined;
  readonly #pacer = new Pacer();
  readonly #held: HeldFolder;
  #saved = 0;

  /** `lock` is looked at where the staging folder stops nobody. */
  constructor(root: DataRoot, moves: Move[], { groupWrite, lock }: FileMoverOptions) {
    this.#lock = lock;
    this.#root = root;
    this.#held = new HeldFolder((path) => root.openFolder(path));
    this.#moves = moves;
    this.#permissions = folderPermissions(groupWrite);
  }

  /** Puts staged files into their places; what was there is replaced in one step. */
  async place(placements: Placement[]): Promise<void> {
    for (const { staged, record, was, keepAs } of placements) {
      const source = this.#root.staging.at(staged);
      if (was) await this.#put(source, { path: record.path, was, keepAs });
      else this.#add(source, record.path, { print: record.fingerprint });
      if (this.#pacer.isDue) await this.#pacer.rest();
    }
  }

  /** Takes files away. One that is gone already is none of our business. */
  async remove(files: { path: string; was: LiveFile }[]): Promise<void> {
    for (const { path, was } of files) {
      const target = this.#target(path);
      if (!target || !this.#isThere(target, path)) continue;
      const saved = this.#savedAs((number) => replacedName(number, printOf(was)));
      this.#moves.push({ kind: 'removed', path, saved });
      this.#takeAway(target, saved.name);
      await this.#checkSaved(target, { path, saved, was });
      if (this.#pacer.isDue) await this.#pacer.rest();
    }
  }

  /**
   * Gives back what was there before: in one step, where the agent's file is still there. The copy stays until the
   * manifest says so; where it cannot, it comes by the staging folder, which brings it back to its name after a kill.
   */
  async giveBack({ path, kept, was }: { path: string; kept: KeptFile; was: LiveFile | undefined }): Promise<void> {
    const folder = this.#root.openAgentFolder('taken-over');
    try {
      const copy = folder.at(kept.name);
      // Somebody removed what was kept: then the agent's own file goes.
      if (!lstatSync(copy, { throwIfNoEntry: false })) return await this.remove(was ? [{ path, was }] : []);
      const linked = this.#savedAs((number) => `back-${number}`).name;
      const backTo = tryLink(copy, this.#root.staging.at(linked)) ? undefined : keepName(kept.name);
      const source = this.#root.staging.at(backTo ?? linked);
      if (backTo) renameSync(copy, source);
      await this.#put(source, { path, was, keepAs: undefined, backTo });
    } finally {
      folder.close();
    }
  }

  /** Makes folders; the outer ones come first in the list. */
  async makeFolders(folders: string[]): Promise<void> {
    const options = { root: this.#root, lock: this.#lock, permissions: this.#permissions };
    for (const path of folders) {
      const [parent, name] = split(path);
      const isMade = meanwhile(path, () => makeFolder(this.#held.at(parent), name, options));
      if (!isMade) continue;
      this.#moves.push({ kind: 'folderMade', path });
      if (this.#pacer.isDue) await this.#pacer.rest();
    }
  }

  /** Removes folders, the inner ones first. What somebody else put in there stays, and the folder with it. */
  async removeFolders(folders: string[]): Promise<void> {
    this.close();
    for (const path of folders) {
      const [parent, name] = split(path);
      const stats = lstatSync(this.#target(path) ?? '', { throwIfNoEntry: false });
      if (!stats?.isDirectory()) continue;
      this.#moves.push({ kind: 'folderRemoved', path, mode: stats.mode & 0o7777 });
      const folder = this.#held.at(parent);
      this.#lock.check();
      folder.removeFolder(name);
    }
  }

  /** Lets go of the folder that was last worked in. */
  close(): void {
    this.#held.close();
  }

  /** Puts a file where nothing is. */
  #add(source: string, path: string, { print, backTo }: { print: Fingerprint; backTo?: string | undefined }): void {
    const target = this.#targetOf(path);
    this.#moves.push({ kind: 'placed', path, print, saved: undefined, backTo });
    meanwhile(path, () => putNew(source, target));
  }

  async #put(source: string, { path, was, keepAs, backTo }: Put): Promise<void> {
    const target = this.#targetOf(path);
    const print = fingerprintOf(lstatSync(source));
    if (!was || was.kind === 'folder' || !this.#isThere(target, path))
      return this.#add(source, path, { print, backTo });
    const saved = this.#savedAs((number) => (keepAs ? keepName(keepAs) : replacedName(number, printOf(was))));
    this.#moves.push({ kind: 'placed', path, print, saved, backTo });
    const isLinked = meanwhile(path, () => tryLink(target, this.#root.staging.at(saved.name)));
    if (!isLinked) this.#takeAway(target, saved.name);
    const seen = await this.#checkSaved(target, { path, saved, was });
    if (keepAs) this.#keep(saved, keepAs);
    if (!isLinked) return meanwhile(path, () => putNew(source, target));
    if (!isUnchanged(target, seen)) throw changed(path);
    renameSync(source, target);
  }

  /** Whether anything is at the path. A folder that somebody put there is left alone. */
  #isThere(target: string, path: string): boolean {
    const stats = lstatSync(target, { throwIfNoEntry: false });
    if (stats?.isDirectory()) throw changed(path);
    return stats !== undefined;
  }

  #takeAway(target: string, name: string): void {
    renameSync(target, this.#root.staging.at(name));
  }

  /** Gives the fingerprint of what was saved. Throws unless it is what the plan saw; it is in its place again then. */
  async #checkSaved(
    target: string,
    { path, saved, was }: { path: string; saved: Saved; was: LiveEntry },
  ): Promise<Fingerprint> {
    const file = this.#root.staging.at(saved.name);
    const seen = fingerprintOf(lstatSync(file));
    if ((await isAsSeen(file, was)) && isUnchanged(file, seen)) {
      this.#noteSeen(saved, { was, seen });
      return seen;
    }
    if (!isSameFile(file, target))
      meanwhile(path, () => (lstatSync(file).isDirectory() ? renameSync : putNew)(file, target));
    throw changed(path);
  }

  /** The same content in another file: from now on it is known by that one's fingerprint. */
  #noteSeen(saved: Saved, { was, seen }: { was: LiveEntry; seen: Fingerprint }): void {
    if (was.kind !== 'file' || saved.name.startsWith(keepName(''))) return;
    if (isSameFingerprint(was.fingerprint, seen)) return;
    const file = this.#root.staging.at(saved.name);
    saved.name = replacedName(this.#saved, seen);
    renameSync(file, this.#root.staging.at(saved.name));
  }

  /** Nothing is there, or another name of the very file, see `freeName`. */
  #keep(saved: Saved, keepAs: string): void {
    const folder = this.#root.openAgentFolder('taken-over');
    try {
      renameSync(this.#root.staging.at(saved.name), folder.at(keepAs));
      saved.keptAs = keepAs;
    } finally {
      folder.close();
    }
  }

  /** The path of an entry in its folder, which the plan saw or made. */
  #targetOf(path: string): string {
    const [parent, name] = split(path);
    return meanwhile(path, () => this.#held.at(parent)).at(name);
  }

  /** The path of an entry in its folder; undefined where that is not there any more, or is a link. */
  #target(path: string): string | undefined {
    const [parent, name] = split(path);
    try {
      return this.#held.at(parent).at(name);
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException;
      if (['ENOENT', 'ENOTDIR', 'data.symbolicLink'].includes(code)) return undefined;
      throw error;
    }
  }

  #savedAs(name: (number: number) => string): Saved {
    this.#saved += 1;
    return { name: name(this.#saved) };
  }
}

interface FileMoverOptions {
  /** Whether the group may write to new folders. */
  groupWrite: boolean;
  lock: VolumeLock;
}

interface Put extends Pick<Placement, 'was' | 'keepAs'> {
  path: string;
  /** The name in the staging folder that it has to have when it is taken back, if it is no second name of it. */
  backTo?: string | undefined;
}
