import path from 'node:path';
import { freePort } from './free-port.ts';
import { gitEnvironment } from './git-command.ts';
import { createBareRepository, type GitRepository } from './git-repository.ts';
import { startGuarded } from './guarded-process.ts';
import { makeTemporaryFolder } from './temporary-folder.ts';
import { untilListening } from './until-listening.ts';

/** Real git over the git:// protocol. */
export interface GitDaemon {
  url: string;
  createRepository(name: string): Promise<GitRepository>;
  stop(): Promise<void>;
}

/** Starts `git daemon` on a free loopback port. */
export async function startGitDaemon(): Promise<GitDaemon> {
  const folder = await makeTemporaryFolder('git-daemon-');
  const log = path.join(folder.path, 'daemon.log');
  const port = await freePort();
  const daemon = startGuarded(
    'git',
    ['daemon', '--export-all', '--reuseaddr', '--listen=127.0.0.1', `--port=${port}`, `--base-path=${folder.path}`],
    { env: gitEnvironment(), output: { log } },
  );
  await untilListening(daemon, { name: 'git daemon', port, log });
  const url = `git://127.0.0.1:${port}`;
  return {
    url,
    createRepository: (name) => createBareRepository(folder.path, name, url),
    stop: async () => {
      await daemon.stop();
      await folder.remove();
    },
  };
}
