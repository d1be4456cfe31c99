import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { freePort } from '../../scripts/testbed/free-port.ts';
import { gitEnvironment } from '../../scripts/testbed/git-command.ts';
import { createBareRepository, type GitRepository } from '../../scripts/testbed/git-repository.ts';
import { makeTemporaryDirectory } from '../../scripts/testbed/temporary-directory.ts';
import { startDaemon } from './start-daemon.ts';

/** Real git over the git:// protocol. */
export interface GitDaemon {
  url: string;
  createRepository(name: string): Promise<GitRepository>;
  /** Sends these objects from now on, regardless of the request; undefined: the requested objects. */
  sendOnly(ids: string[] | undefined): Promise<void>;
  stop(): Promise<void>;
}

/** Starts `git daemon` on a free loopback port. */
export async function startGitDaemon(): Promise<GitDaemon> {
  const directory = await makeTemporaryDirectory('git-daemon-');
  const sent = path.join(directory.path, 'sent');
  const hook = path.join(directory.path, 'pack-objects.sh');
  const config = path.join(directory.path, 'daemon.config');
  // The hook reads the request to its end, because the daemon aborts if its input isn't read.
  await writeFile(hook, `#!/bin/sh\ncat >/dev/null\ngit pack-objects --stdout -q <'${sent}'\n`, { mode: 0o755 });
  await writeFile(config, '');
  const port = await freePort();
  const stop = await startDaemon(
    'git',
    ['daemon', '--export-all', '--reuseaddr', '--listen=127.0.0.1', `--port=${port}`, `--base-path=${directory.path}`],
    { port, directory, env: { ...gitEnvironment(), GIT_CONFIG_GLOBAL: config } },
  );
  const url = `git://127.0.0.1:${port}`;
  return {
    url,
    createRepository: (name) => createBareRepository(directory.path, name, url),
    sendOnly: async (ids) => {
      if (ids) await writeFile(sent, `${ids.join('\n')}\n`);
      // Git doesn't read the hook from a repository, and reads this file for each request. A shell for each costs more.
      await writeFile(config, ids ? `[uploadpack]\n\tpackObjectsHook = ${hook}\n` : '');
    },
    stop,
  };
}
