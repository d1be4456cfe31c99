import { type GitServer, type GitServerOptions, startGitServer } from '../../scripts/testbed/git-server.ts';
import { cleanUp, type Scope, scopeOfSuite } from './clean-up.ts';
import { type GitDaemon, startGitDaemon } from './git-daemon.ts';

/** Starts a git server that is stopped after the test. */
export async function gitServerFor(t: Scope, options: GitServerOptions = {}): Promise<GitServer> {
  const server = await startGitServer(options);
  cleanUp(t, () => server.stop());
  return server;
}

/** Starts a git server for all tests of a file. */
export const shareGitServer = (): Promise<GitServer> => gitServerFor(scopeOfSuite());

/** Starts a server of git:// that is stopped after the test. */
export async function gitDaemonFor(t: Scope): Promise<GitDaemon> {
  const daemon = await startGitDaemon();
  cleanUp(t, () => daemon.stop());
  return daemon;
}

/** Starts a git server with a repository `app`, whose first commit has a file `config/a`. */
export async function serveRepository(t: Scope, options: GitServerOptions = {}) {
  const server = await gitServerFor(t, options);
  const repository = await server.createRepository('app');
  const commit = await repository.commit({ files: { 'config/a': '1' } });
  return { server, repository, commit };
}
