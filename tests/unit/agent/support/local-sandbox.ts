import type { TestContext } from 'node:test';
import { createBareRepository, type GitRepository } from '../../../../scripts/testbed/git-repository.ts';
import { makeTemporaryDirectory, type TemporaryDirectory } from '../../../../scripts/testbed/temporary-directory.ts';
import { type GitSandbox, gitSandbox, type Profile } from './git-sandbox.ts';
import { serveLocally } from './local-clone.ts';
import { GitMemory } from './remembering-clone.ts';
import { createSandbox, type SandboxOptions } from './sandbox.ts';

/** Nothing listens there. */
const BASE_URL = 'git://127.0.0.1:9';

let directory: Promise<TemporaryDirectory> | undefined;
let repositories = 0;

/** Makes an empty repository, from which sandboxes sync without a git server; a number is added to its name. */
export async function createLocalRepository(name: string): Promise<GitRepository> {
  directory ??= makeTemporaryDirectory('local-repositories-');
  const { path } = await directory;
  repositories += 1;
  return serveLocally(await createBareRepository(path, `${name}.${repositories}`, BASE_URL));
}

/** Makes an empty repository, and an agent that can sync from it without a git server. */
export async function localSandbox(t: TestContext, name = 'local', options: SandboxOptions = {}): Promise<GitSandbox> {
  return await gitSandbox(t, name, { ...options, server: { createRepository: createLocalRepository } });
}

/** Makes an empty repository, and agents that sync from it one after the other and share git's results. */
export async function localAgents(t: TestContext, name = 'local') {
  const { url: repo, commit } = await createLocalRepository(name);
  const memory = new GitMemory();
  return {
    /** Commits changes of files, and returns what an agent needs to sync the commit. */
    targetOf: async (files: Parameters<typeof commit>[0]['files'], profile: Profile = {}) => ({
      repo,
      commit: await commit({ files }),
      profile,
    }),
    /** Makes an agent with an empty volume. */
    createAgent: () => createSandbox(t, { memory }),
  };
}
