import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { suite, type TestContext, test } from 'node:test';
import type { GitRepository } from '../../../../scripts/testbed/git-repository.ts';
import type { GitServer, GitServerOptions } from '../../../../scripts/testbed/git-server.ts';
import { slow } from '../../../support/depth.ts';
import { gitDaemonFor, gitServerFor } from '../../../support/git-server-for.ts';
import { deliver, queryMain } from '../support/both-programs.ts';
import { createSandbox } from '../support/sandbox.ts';

/** A server that treats slashes literally, like some git servers. */
async function startServer(t: TestContext, options?: GitServerOptions): Promise<GitServer> {
  const server = await gitServerFor(t, options);
  server.redirect = ({ url = '' }, response) => url.includes('//') && response.writeHead(404).end();
  return server;
}

async function assertFound(t: TestContext, repo: string, { commit }: GitRepository): Promise<void> {
  const tip = await commit({ files: { a: repo } });
  assert.equal(await queryMain(t, repo), tip, 'by the controller');
  const sandbox = await createSandbox(t);
  await sandbox.sync({ repo, commit: tip });
  assert.deepEqual(await sandbox.files(), { a: repo }, 'by the agent');
  // Again, as after a restart with an existing clone.
  const next = await commit({ files: { a: 'next' } });
  await sandbox.sync({ repo, commit: next });
  assert.deepEqual(await sandbox.files(), { a: 'next' });
}

suite('controller and agent accept a pasted URL', () => {
  test('that ends with slashes, with a user name for a public repository', slow, async (t) => {
    const repository = await (await startServer(t)).createRepository('x');
    await assertFound(t, `${repository.url.replace('://', '://me@')}////`, repository);
  });

  test('that ends with //, over git://', slow, async (t) => {
    const daemon = await gitDaemonFor(t);
    const repository = await daemon.createRepository('x');
    await assertFound(t, `${repository.url.replace('127.0.0.1', 'localhost')}//`, repository);
  });

  test('with a user name, and a redirect', slow, async (t) => {
    const server = await startServer(t);
    const repository = await server.createRepository('new/x');
    server.redirect = ({ url = '' }, response) =>
      url.startsWith('/old/') && response.writeHead(301, { location: url.replace('/old/', '/new/') }).end();
    await assertFound(t, `${repository.url.replace('://', '://me@').replace('/new/', '/old/')}//`, repository);
  });

  for (const [what, credentials, user, token] of [
    ['the organization for a user, as in Azure DevOps', { username: 'org', password: 'pat' }, 'org@', 'pat\n'],
    ['an e-mail address for a user', { username: 'me@corp.test', password: 'secret' }, 'me%40corp.test@', 'secret'],
    ['another user in the Secret', { username: 'you', password: 'secret' }, 'me@', 'you:secret'],
    ['a header in the Secret', { token: 'abc' }, '', 'Authorization: Bearer abc\r\n'],
  ] as const)
    test(`with a space in the path, and ${what}`, async (t) => {
      const server = await startServer(t, { tls: true, credentials });
      const repository = await server.createRepository('org/My Project/_git/x');
      const tip = await repository.commit({ files: { a: '1' } });
      const repo = repository.url.replace('://', `://${user}`).replace(/\.git$/, '');
      const secrets = { token, ca: await readFile(server.caFile ?? '', 'utf8') };
      assert.equal(await queryMain(t, repo, secrets), tip, 'by the controller');
      assert.deepEqual(await deliver(t, { repo, commit: tip }, secrets), { a: '1' }, 'by the agent');
    });
});
