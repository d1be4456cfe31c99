import { type GitDaemon, startGitDaemon } from '../../scripts/testbed/git-daemon.ts';
import { type GitServer, type GitServerOptions, startGitServer } from '../../scripts/testbed/git-server.ts';
import { cleanUp, type Scope } from './clean-up.ts';

/** Starts a git server that is stopped after the test. */
export async function gitServerFor(t: Scope, options: GitServerOptions = {}): Promise<GitServer> {
  const server = await startGitServer(options);
  cleanUp(t, () => server.stop());
  return server;
}

/** Starts a server of git:// that is stopped after the test. */
export async function gitDaemonFor(t: Scope): Promise<GitDaemon> {
  const daemon = await startGitDaemon();
  cleanUp(t, () => daemon.stop());
  return daemon;
}
