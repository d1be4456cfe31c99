import { once } from 'node:events';
import { connect } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './free-port.ts';
import { gitEnvironment } from './git-command.ts';
import { createBareRepository, type GitRepository } from './git-repository.ts';
import { startGuarded, tailOf } from './guarded-process.ts';
import { makeTemporaryFolder } from './temporary-folder.ts';

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
  const stop = async () => {
    await daemon.stop();
    await folder.remove();
  };
  while (!(await accepts(port))) {
    if (daemon.hasExited()) {
      const reason = await tailOf(log);
      await stop();
      throw new Error(`git daemon ended:\n${reason}`);
    }
    await sleep(20);
  }
  const url = `git://127.0.0.1:${port}`;
  return { url, createRepository: (name) => createBareRepository(folder.path, name, url), stop };
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
