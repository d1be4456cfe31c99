import { linkSync, lstatSync, renameSync, unlinkSync } from 'node:fs';
import { chmod, lstat, mkdir, rename, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { dirname } from 'node:path/posix';
import type { DataRoot } from './data-root.ts';
import { Pacer } from './pacer.ts';
import { stagedPath } from './stage-files.ts';

/** Moves files in and out of their places, so that each move can be taken back until the staging folder is emptied. */
export class FileMover {
  readonly #root: DataRoot;
  readonly #undo: UndoLog;
  readonly #pacer = new Pacer();
  #saved = 0;

  constructor(root: DataRoot, undo: UndoLog) {
    this.#root = root;
    this.#undo = undo;
  }

  /** Puts staged files, in their order, into their places; what was there is replaced in one step and saved before. */
  async place(paths: string[]): Promise<void> {
    const placed: { target: string; saved: string | undefined }[] = [];
    this.#undo.push(() => takeBack(placed));
    const checked = new Set<string>();
    for (const [index, path] of paths.entries()) {
      const folder = folderOf(path);
      if (!checked.has(folder)) await this.#root.checkFolder(folder);
      checked.add(folder);
      const target = this.#root.absolute(path);
      const saved = this.#save(target);
      renameSync(stagedPath(this.#root.stagingFolder, index), target);
      placed.push({ target, saved });
      if (this.#pacer.isDue) await this.#pacer.rest();
    }
  }

  /** Takes files away. One that is gone already is none of our business. */
  async remove(paths: string[]): Promise<void> {
    for (const path of paths) {
      await this.#root.checkFolder(folderOf(path));
      const place = this.#root.absolute(path);
      const saved = this.#nextSaved();
      const isGone = await rename(place, saved).then(() => false, codes('ENOENT'));
      if (!isGone) this.#undo.push(() => rename(saved, place));
    }
  }

  /** Makes folders; the outer ones come first in the list. */
  async makeFolders(folders: string[]): Promise<void> {
    for (const folder of folders) {
      await this.#root.checkFolder(folderOf(folder));
      const path = this.#root.absolute(folder);
      const wasThere = await mkdir(path, 0o755).then(() => false, codes('EEXIST'));
      if (!wasThere) this.#undo.push(() => rmdir(path));
    }
  }

  /** Removes folders, the inner ones first. What somebody else put in there stays, and the folder with it. */
  async removeFolders(folders: string[]): Promise<void> {
    for (const folder of folders) {
      const path = this.#root.absolute(folder);
      const stats = await lstat(path).catch(() => undefined);
      const stays = await rmdir(path).then(() => false, codes('ENOENT', 'ENOTEMPTY', 'EEXIST', 'ENOTDIR'));
      if (stays || !stats) continue;
      this.#undo.push(async () => {
        await mkdir(path);
        await chmod(path, stats.mode & 0o7777);
      });
    }
  }

  /** A second name for the file, where the file system has such; nothing, a link or a pipe is not worth saving. */
  #save(place: string): string | undefined {
    if (!lstatSync(place, { throwIfNoEntry: false })?.isFile()) return undefined;
    const saved = this.#nextSaved();
    try {
      linkSync(place, saved);
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT') return undefined;
      if (!['EPERM', 'ENOSYS', 'EOPNOTSUPP', 'EMLINK'].includes(code)) throw error;
      renameSync(place, saved);
    }
    return saved;
  }

  #nextSaved(): string {
    this.#saved += 1;
    return join(this.#root.stagingFolder, `saved-${this.#saved}`);
  }
}

async function takeBack(placed: { target: string; saved: string | undefined }[]): Promise<void> {
  const errors: unknown[] = [];
  for (const { target, saved } of placed.reverse()) {
    try {
      if (saved) renameSync(saved, target);
      else unlinkSync(target);
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw new AggregateError(errors, `${errors.length} files are not back: ${errors[0]}`);
}

const folderOf = (path: string): string => (dirname(path) === '.' ? '' : dirname(path));

/** Gives true for what somebody else did in the meantime, and throws anything else. */
const codes =
  (...expected: string[]) =>
  (error: NodeJS.ErrnoException): true => {
    if (expected.includes(error.code ?? '')) return true;
    throw error;
  };

/** What has to be done to take back what was done so far. */
export class UndoLog {
  readonly #steps: (() => Promise<void>)[] = [];

  /** Notes how to take back a step that was just done. */
  push(step: () => Promise<void>): void {
    this.#steps.push(step);
  }

  /** Takes everything back, the last step first; gives the errors of those that could not be. */
  async run(): Promise<unknown[]> {
    const errors: unknown[] = [];
    for (let step = this.#steps.pop(); step; step = this.#steps.pop()) {
      await step().catch((error) => errors.push(error));
    }
    return errors;
  }
}
