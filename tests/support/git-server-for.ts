import type { TestContext } from 'node:test';
import { type GitServer, type GitServerOptions, startGitServer } from '../../scripts/testbed/git-server.ts';

/** Starts a git server that is stopped after the test. */
export async function gitServerFor(t: Pick<TestContext, 'after'>, options: GitServerOptions = {}): Promise<GitServer> {
  const server = await startGitServer(options);
  t.after(() => server.stop());
  return server;
}
