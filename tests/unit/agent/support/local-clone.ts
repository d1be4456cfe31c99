import { copyFile, mkdir, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Clone } from '../../../../agent/git/clone.ts';
import { FETCHED_REF } from '../../../../agent/git/fetch-commit.ts';
import type { GitRepository } from '../../../../scripts/testbed/git-repository.ts';

/** A repository in a directory of this process. */
interface Origin {
  path: string;
  commits: Set<string>;
}

const origins = new Map<string, Origin>();

/** Makes the commits of a repository available to the clones of this process, without a git server. */
export function serveLocally(repository: GitRepository): GitRepository {
  const commits = new Set<string>();
  origins.set(repository.url, { path: repository.path, commits });
  return {
    ...repository,
    commit: async (options) => {
      const id = await repository.commit(options);
      commits.add(id);
      return id;
    },
  };
}

/** Makes a commit available as well that git wrote to such a repository. */
export async function serveCommit({ url, git }: GitRepository, commit: string): Promise<void> {
  await git('repack', '-d', '-q');
  origins.get(url)?.commits.add(commit);
}

/**
 * A clone that copies the packs of such a repository instead of fetching them, for tests of what a sync does with a
 * commit that it has: a fetch takes more CPU time than the rest of a sync. It fetches from other repositories.
 */
export class LocalClone extends Clone {
  override async fetch(...given: Parameters<Clone['fetch']>): Promise<void> {
    const [{ repo, commit }] = given;
    const origin = origins.get(repo);
    if (!origin?.commits.has(commit)) return await super.fetch(...given);
    await this.repository.open(commit);
    await copyPacks(origin.path, this.repository.path);
    const ref = path.join(this.repository.path, FETCHED_REF);
    await mkdir(path.dirname(ref), { recursive: true });
    await writeFile(ref, `${commit}\n`);
    this.repository.onFetched(commit);
  }
}

async function copyPacks(from: string, to: string): Promise<void> {
  const packs = 'objects/pack';
  await mkdir(path.join(to, packs), { recursive: true });
  const there = await readdir(path.join(to, packs));
  for (const name of await readdir(path.join(from, packs))) {
    if (!there.includes(name)) await copyFile(path.join(from, packs, name), path.join(to, packs, name));
  }
}
