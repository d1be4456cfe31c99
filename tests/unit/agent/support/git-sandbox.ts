import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, type TestContext } from 'node:test';
import type { GitRepository } from '../../../../scripts/testbed/git-repository.ts';
import type { ResolvedProfile } from '../../../../shared/domain/kubernetes/resolve-profile.ts';
import { type GitDaemon, startGitDaemon } from '../../../support/git-daemon.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { createSandbox, type SandboxOptions } from './sandbox.ts';

let daemon: Promise<GitDaemon> | undefined;
let repositories = 0;
after(async () => (await daemon)?.stop());

/** The git server of this test file, which the first call starts. */
function gitServer(): Promise<GitDaemon> {
  daemon ??= startGitDaemon();
  return daemon;
}

/** Makes an empty repository on the git server of this test file; a number is added to its name. */
export async function createRepository(name: string): Promise<GitRepository> {
  const server = await gitServer();
  repositories += 1;
  return await server.createRepository(`${name}.${repositories}`);
}

interface GitSandboxOptions extends SandboxOptions {
  /** The git server. If omitted, the test file's. */
  server?: Pick<GitDaemon, 'createRepository'>;
}

export type Profile = Partial<ResolvedProfile>;

/** A repository, and an agent whose directories are removed after the test. */
export type GitSandbox = Awaited<ReturnType<typeof gitSandbox>>;

/** Makes an empty repository, and an agent that can sync from it. */
export async function gitSandbox(
  t: TestContext,
  name: string,
  { server = { createRepository }, ...options }: GitSandboxOptions = {},
) {
  repositories += 1;
  const repository = await server.createRepository(`${name}.${repositories}`);
  const sandbox = await createSandbox(t, options);
  const { url: repo } = repository;
  let last = '';
  const commit = async (options: Parameters<GitRepository['commit']>[0]) => {
    last = await repository.commit(options);
    return last;
  };
  /** Syncs the last commit that was made, or another one. */
  const sync = (profile: Profile = {}, id = last) => sandbox.sync({ repo, commit: id, profile });
  return {
    /** URL of the repository. */
    repo,
    commit,
    repository,
    sandbox,
    /** Path of a file in the data volume. */
    at: (file: string) => path.join(sandbox.data, file),
    sync,
    /** Commits changes of files, and syncs the commit. */
    deliver: async (files: Parameters<typeof commit>[0]['files'], profile?: Profile) => {
      await commit({ files });
      return await sync(profile);
    },
  };
}

/** Files of an access to a server: its CA, and a token. */
export async function accessTo(t: TestContext, { caFile }: { caFile: string | undefined }, token = 'secret') {
  const tokenFile = path.join(await temporaryDirectory(t, 'token-'), 'token');
  await writeFile(tokenFile, token);
  return { tokenFile, caFile };
}
