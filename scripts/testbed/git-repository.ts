import { existsSync } from 'node:fs';
import { appendFile, cp, readFile } from 'node:fs/promises';
import path from 'node:path';
import { isCommitHash } from '../../shared/domain/check-ref-name.ts';
import { type FileChange, fastImportStream, type NewCommit } from './fast-import.ts';
import { git } from './git-command.ts';
import { makeTemporaryFolder } from './temporary-folder.ts';

/** A change of files on a branch (default: `main`). */
interface CommitOptions {
  /** Content by path; null deletes. Paths that are not named stay as they are. */
  files: Record<string, FileChange>;
  message?: string;
  branch?: string;
}

/** How a tag is made; without `target` it names the tip of `main`. */
interface TagOptions {
  annotated?: boolean;
  target?: string;
  force?: boolean;
}

/** A bare repository and what one does to it, as if one had pushed. */
export interface GitRepository {
  /** What a client clones. */
  url: string;
  /** Folder of the bare repository. */
  path: string;
  /** Adds a commit to a branch, which it makes where it is missing; gives the commit's id. */
  commit(options: CommitOptions): Promise<string>;
  /** Replaces the last commit of a branch, as an amended one that is pushed by force would; gives the new commit's id. */
  forcePush(options: CommitOptions): Promise<string>;
  /** Makes a tag and gives the id of the commit that it leads to. */
  tag(name: string, options?: TagOptions): Promise<string>;
  /** Points a branch at a commit, whatever it pointed at before. */
  branch(name: string, sha: string): Promise<void>;
  /** Deletes a ref, named in full (`refs/heads/…`, `refs/tags/…`). */
  deleteRef(ref: string): Promise<void>;
  /** The commit that a revision names, or undefined. */
  resolve(revision: string): Promise<string | undefined>;
  /** Any git command in the bare repository. */
  git(...args: string[]): Promise<string>;
}

/**
 * What hosts of git allow: partial clones, fetches of a commit by its id, pushes. No maintenance in the background. Nothing
 * has to outlive the machine, and a commit stays the pack that it came as: another process would unpack it.
 */
const configuration = `
[uploadpack]
	allowFilter = true
	allowTipSHA1InWant = true
	allowReachableSHA1InWant = true
[http]
	receivepack = true
[gc]
	auto = 0
[receive]
	autogc = false
[core]
	fsync = none
[fastimport]
	unpackLimit = 0
`;

/** An empty bare repository: git makes one, and the others of this process are copies of it. */
let empty: Promise<string> | undefined;

async function makeEmpty(): Promise<string> {
  const { path: parent } = await makeTemporaryFolder('empty-repository-');
  const folder = path.join(parent, 'empty.git');
  // Without a template, which would bring a dozen examples of hooks.
  await git(parent, ['init', '--quiet', '--bare', '--initial-branch=main', '--template=', folder]);
  await appendFile(path.join(folder, 'config'), configuration);
  return folder;
}

/** Makes an empty bare repository below a folder; `name` may hold slashes. */
export async function createBareRepository(root: string, name: string, baseUrl: string): Promise<GitRepository> {
  const folder = path.join(root, `${name}.git`);
  empty ??= makeEmpty();
  await cp(await empty, folder, { recursive: true });
  const run = (...args: string[]) => git(folder, args);
  const resolve = (revision: string) =>
    run('rev-parse', '--verify', '--quiet', `${revision}^{commit}`).catch(() => undefined);
  /** Most refs are files: no git has to start for those. */
  const tipOf = async (ref: string) => {
    const tip = (await readFile(path.join(folder, ref), 'utf8').catch(() => '')).trim();
    if (isCommitHash(tip)) return tip;
    const isElsewhere = tip !== '' || existsSync(path.join(folder, 'packed-refs'));
    return isElsewhere ? await resolve(ref) : undefined;
  };
  const write = (commit: NewCommit) =>
    git(folder, ['fast-import', '--quiet', '--force', '--done', '--date-format=raw'], fastImportStream(commit));
  return {
    url: `${baseUrl}/${name}.git`,
    path: folder,
    resolve,
    git: run,
    commit: async ({ files, message = 'Change', branch = 'main' }) => {
      const ref = `refs/heads/${branch}`;
      const parent = await tipOf(ref);
      return await write({ ref, message, files, ...(parent && { parent }) });
    },
    forcePush: async ({ files, message = 'Replaced', branch = 'main' }) => {
      const ref = `refs/heads/${branch}`;
      const tree = await run('rev-parse', `${ref}^{tree}`);
      const parent = await resolve(`${ref}^`);
      return await write({ ref, message, files, tree, ...(parent && { parent }) });
    },
    tag: async (tag, { annotated = false, target = 'refs/heads/main', force = false } = {}) => {
      await run(
        'tag',
        ...(annotated ? ['--annotate', '--message', tag] : []),
        ...(force ? ['--force'] : []),
        tag,
        target,
      );
      return await run('rev-parse', `refs/tags/${tag}^{commit}`);
    },
    branch: async (branch, sha) => void (await run('update-ref', `refs/heads/${branch}`, sha)),
    deleteRef: async (ref) => void (await run('update-ref', '-d', ref)),
  };
}
