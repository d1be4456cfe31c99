import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startGitServer } from '../../../../scripts/testbed/git-server.ts';
import { queryClient, sshTools } from './query-world.ts';

test('a CA for plain HTTP is rejected permanently with a message, because there is no certificate to check', async (t) => {
  const server = await startGitServer();
  t.after(() => server.stop());
  const { url: repo } = await server.createRepository('app');
  const tools = sshTools();
  t.after(() => tools.http.close());
  const git = { repo, caSecretRef: { name: 'ca', key: 'key' } };
  const query = queryClient(tools, { namespace: 'default', git }).query({ prefixes: ['HEAD'] });
  await assert.rejects(query, {
    name: 'TerminalError',
    reason: 'CAWithoutTLS',
    message: /^spec\.git\.caSecretRef .*https:\/\/ in spec\.git\.repo/,
  });
});
