import type { TestContext } from 'node:test';
import { createBareRepository, type GitRepository } from '../../../../scripts/testbed/git-repository.ts';
import { makeTemporaryDirectory, type TemporaryDirectory } from '../../../../scripts/testbed/temporary-directory.ts';
import { type GitSandbox, gitSandbox } from './git-sandbox.ts';
import { serveLocally } from './local-clone.ts';
import type { SandboxOptions } from './sandbox.ts';

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
