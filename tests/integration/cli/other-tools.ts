import { mkdir, readdir, symlink } from 'node:fs/promises';
import path from 'node:path';
import { git } from '../../../scripts/testbed/git-command.ts';

/** Settings of git-sync, with local paths. */
export interface GitSyncRun {
  repo: string;
  ref: string;
  root: string;
  /** Path of the link. */
  link: string;
}

/**
 * Creates the files that a sync of git-sync v4 leaves, according to its README: a repository in the root, a worktree
 * for the commit, and a link to it. (Its module isn't published, so the program itself can't be built here.)
 */
export async function gitSyncV4({ repo, ref, root, link }: GitSyncRun): Promise<void> {
  await mkdir(root, { recursive: true });
  await git(root, ['init', '--quiet', '--initial-branch=git-sync']);
  await git(root, ['remote', 'add', 'origin', repo]);
  await git(root, ['fetch', '--quiet', '--depth=1', '--no-tags', 'origin', ref]);
  const hash = await git(root, ['rev-parse', 'FETCH_HEAD^{commit}']);
  await publish({ root, link, hash, worktree: path.join(root, '.worktrees', hash) });
}

/** The same for version 3: a clone of the branch, with worktrees next to it. */
export async function gitSyncV3({ repo, ref, root, link }: GitSyncRun): Promise<void> {
  await git('/', ['clone', '--quiet', '--no-checkout', '--branch', ref, repo, root]);
  const hash = await git(root, ['rev-parse', `origin/${ref}^{commit}`]);
  await publish({ root, link, hash, worktree: path.join(root, hash) });
}

async function publish({ root, link, hash, worktree }: { root: string; link: string; hash: string; worktree: string }) {
  await git(root, ['worktree', 'add', '--quiet', '--force', '--detach', worktree, hash]);
  await git(worktree, ['reset', '--quiet', '--hard', hash]);
  await git(worktree, ['submodule', '--quiet', 'update', '--init', '--recursive', '--depth=1']);
  await mkdir(path.dirname(link), { recursive: true });
  await symlink(path.relative(path.dirname(link), worktree), link);
}

/** Simulates the kubelet for a gitRepo volume: clone, checkout, reset (pkg/volume/git_repo in Kubernetes). */
export async function gitRepoVolume(
  parent: string,
  { repository, revision, directory }: { repository: string; revision?: string; directory?: string },
): Promise<void> {
  await git(parent, ['clone', '--quiet', '--', repository, ...(directory ? [directory] : [])]);
  if (!revision) return;
  const [made = ''] = await readdir(parent);
  const clone = directory === '.' ? parent : path.join(parent, made);
  await git(clone, ['checkout', '--quiet', revision]);
  await git(clone, ['reset', '--quiet', '--hard']);
}
