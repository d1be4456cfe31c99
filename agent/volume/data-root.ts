import { lstat, mkdir, realpath, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { AGENT_FOLDER } from '../../shared/api/names.ts';
import { TerminalError } from '../../shared/errors.ts';

/** The root of the data volume, and the only place that turns relative paths into real ones. */
export class DataRoot {
  readonly path: string;
  readonly agentFolder: string;
  readonly stagingFolder: string;

  private constructor(path: string) {
    this.path = path;
    this.agentFolder = join(path, AGENT_FOLDER);
    this.stagingFolder = join(this.agentFolder, 'staging');
  }

  /** Resolves the root once; links in the path to it are the mount's business, links below it are not followed. */
  static async open(path: string): Promise<DataRoot> {
    return new DataRoot(await realpath(path));
  }

  /** The real path of a relative one in normal form; says nothing about links on the way. */
  absolute(path: string): string {
    return path === '' ? this.path : `${this.path}/${path}`;
  }

  /** Throws {@link TerminalError} unless the folder, with all links resolved, is where its path says. */
  async checkFolder(folder: string): Promise<void> {
    const expected = this.absolute(folder);
    if ((await realpath(expected)) === expected) return;
    throw new TerminalError(`${folder} leads through a symbolic link in the data volume: nothing is written there`, {
      code: 'data.symbolicLink',
      reason: 'PathConflict',
    });
  }

  /** An empty staging folder on the data volume's own file system, so that files can be moved into place. */
  async emptyStaging(): Promise<string> {
    await makeRealFolder(this.agentFolder);
    await rm(this.stagingFolder, { recursive: true, force: true });
    await makeRealFolder(this.stagingFolder);
    return this.stagingFolder;
  }
}

async function makeRealFolder(path: string): Promise<void> {
  await mkdir(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  if ((await lstat(path)).isDirectory()) return;
  throw new TerminalError(`${path} must be a folder: it holds the agent's own files`, {
    code: 'data.agentFolder',
    reason: 'PathConflict',
  });
}
