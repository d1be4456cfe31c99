import { existsSync } from 'node:fs';
import { appendFile, cp, readFile } from 'node:fs/promises';
import path from 'node:path';
import { isCommitHash } from '../../shared/domain/git/check-ref-name.ts';
import { type FileChange, fastImportStream, type NewCommit } from './fast-import.ts';
import { git } from './git-command.ts';
import { makeTemporaryDirectory } from './temporary-directory.ts';

/** A change of files on a branch (default: `main`). */
interface CommitOptions {
  /** Content by path; null deletes. Other paths are unchanged. */
  files: Record<string, FileChange>;
  message?: string;
  branch?: string;
}

/** A tag; the default of `target` is the tip of `main`. */
interface TagOptions {
  annotated?: boolean;
  target?: string;
  force?: boolean;
}

/** A bare repository and operations on it, with the effect of pushes. */
export interface GitRepository {
  /** URL for clients. */
  url: string;
  /** Directory of the bare repository. */
  path: string;
  /** Adds a commit to a branch, which is created if it is missing; returns the commit's id. */
  commit(options: CommitOptions): Promise<string>;
  /** Replaces the last commit of a branch, like a forced push of an amended commit; returns the new commit's id. */
  forcePush(options: CommitOptions): Promise<string>;
  /** Creates a tag and returns the id of its commit. */
  tag(name: string, options?: TagOptions): Promise<string>;
  /** Points a branch at any commit. */
  branch(name: string, sha: string): Promise<void>;
  /** Deletes a ref by its full name (`refs/heads/…`, `refs/tags/…`). */
  deleteRef(ref: string): Promise<void>;
  /** Returns the commit that a revision names, or undefined. */
  resolve(revision: string): Promise<string | undefined>;
  /** Runs any git command in the bare repository. */
  git(...args: string[]): Promise<string>;
}

/**
 * Features of git servers: partial clones, fetches of a commit by its id, pushes. No maintenance in the background.
 * Data doesn't have to survive a crash, and packs are kept as they are, because unpacking takes another process.
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

/** An empty bare repository that git creates once; the others of this process are copies of it. */
let empty: Promise<string> | undefined;

async function makeEmpty(): Promise<string> {
  const { path: parent } = await makeTemporaryDirectory('empty-repository-');
  const directory = path.join(parent, 'empty.git');
  // Without a template, which would add a dozen sample hooks.
  await git(parent, ['init', '--quiet', '--bare', '--initial-branch=main', '--template=', directory]);
  await appendFile(path.join(directory, 'config'), configuration);
  return directory;
}

/** Creates an empty bare repository below a directory; `name` may contain slashes. */
export async function createBareRepository(root: string, name: string, baseUrl: string): Promise<GitRepository> {
  const directory = path.join(root, `${name}.git`);
  empty ??= makeEmpty();
  await cp(await empty, directory, { recursive: true });
  const run = (...args: string[]) => git(directory, args);
  const resolve = (revision: string) =>
    run('rev-parse', '--verify', '--quiet', `${revision}^{commit}`).catch(() => undefined);
  /** Most refs are files, which don't need a git process. */
  const tipOf = async (ref: string) => {
    const tip = (await readFile(path.join(directory, ref), 'utf8').catch(() => '')).trim();
    if (isCommitHash(tip)) return tip;
    const isElsewhere = tip !== '' || existsSync(path.join(directory, 'packed-refs'));
    return isElsewhere ? await resolve(ref) : undefined;
  };
  const write = (commit: NewCommit) =>
    git(directory, ['fast-import', '--quiet', '--force', '--done', '--date-format=raw'], fastImportStream(commit));
  return {
    url: `${baseUrl}/${encodeURI(name)}.git`,
    path: directory,
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
      const annotation = annotated ? ['--annotate', '--message', tag] : [];
      await run('tag', ...annotation, ...(force ? ['--force'] : []), tag, target);
      return await run('rev-parse', `refs/tags/${tag}^{commit}`);
    },
    branch: async (branch, sha) => void (await run('update-ref', `refs/heads/${branch}`, sha)),
    deleteRef: async (ref) => void (await run('update-ref', '-d', ref)),
  };
}
