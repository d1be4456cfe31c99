import { chmod, link, lstat, mkdir, rename, rm, rmdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { dirname } from 'node:path/posix';
import type { DataRoot } from './data-root.ts';
import { forEachLimited } from './for-each-limited.ts';
import type { StagedFile } from './stage-files.ts';
import type { UndoLog } from './undo-log.ts';

const CONCURRENCY = 16;

/** Moves files in and out of their places, so that each move can be taken back until the staging folder is emptied. */
export class FileMover {
  readonly #root: DataRoot;
  readonly #undo: UndoLog;
  #saved = 0;

  constructor(root: DataRoot, undo: UndoLog) {
    this.#root = root;
    this.#undo = undo;
  }

  /** Puts staged files into their places; what was there is replaced in one step and saved before. */
  async place(files: StagedFile[]): Promise<void> {
    const checked = new Map<string, Promise<void>>();
    const check = (folder: string) => {
      const result = checked.get(folder) ?? this.#root.checkFolder(folder);
      checked.set(folder, result);
      return result;
    };
    await forEachLimited(files, CONCURRENCY, async ({ temporary, record }) => {
      await check(folderOf(record.path));
      const target = this.#root.absolute(record.path);
      const saved = this.#nextSaved();
      const isSaved = await save(target, saved);
      await rename(temporary, target);
      this.#undo.push(() => (isSaved ? rename(saved, target) : unlink(target)));
    });
  }

  /** Takes files away. One that is gone already is none of our business. */
  async remove(paths: string[]): Promise<void> {
    await forEachLimited(paths, CONCURRENCY, async (path) => {
      await this.#root.checkFolder(folderOf(path));
      const place = this.#root.absolute(path);
      const saved = this.#nextSaved();
      const isGone = await rename(place, saved).then(() => false, codes('ENOENT'));
      if (!isGone) this.#undo.push(() => rename(saved, place));
    });
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

  #nextSaved(): string {
    this.#saved += 1;
    return join(this.#root.stagingFolder, `saved-${this.#saved}`);
  }
}

/** A second name for the file, where the file system has such; nothing, a link or a pipe is not worth saving. */
async function save(place: string, saved: string): Promise<boolean> {
  try {
    if (!(await lstat(place)).isFile()) return false;
    await link(place, saved);
    return true;
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return false;
    if (!['EPERM', 'ENOSYS', 'EOPNOTSUPP', 'EMLINK'].includes(code)) throw error;
    await rm(saved, { force: true });
    await rename(place, saved);
    return true;
  }
}

const folderOf = (path: string): string => (dirname(path) === '.' ? '' : dirname(path));

/** Gives true for what somebody else did in the meantime, and throws anything else. */
const codes =
  (...expected: string[]) =>
  (error: NodeJS.ErrnoException): true => {
    if (expected.includes(error.code ?? '')) return true;
    throw error;
  };
