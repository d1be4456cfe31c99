import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GitHttp } from '../../../../controller/polling/git-http.ts';
import type { TransientError } from '../../../../shared/errors.ts';
import { PRIVATE_KEY } from '../../../support/private-key.ts';
import { queryClient, sshAuth, sshTools } from './query-world.ts';

const main = { prefixes: ['refs/heads/main'] };

test('an SSH key can have 64 KiB, because it is in memory during the query', async (t) => {
  const ask = (key: string) => {
    const tools = sshTools(key);
    t.after(() => tools.http.close());
    const git = { repo: 'ssh://git@127.0.0.1:1/app.git', auth: sshAuth };
    return queryClient(tools, { namespace: 'default', git }).query(main);
  };
  await assert.rejects(ask(PRIVATE_KEY.padEnd(64 * 1024 + 1)), { name: 'TerminalError', reason: 'SecretTooLarge' });
  await assert.rejects(ask(PRIVATE_KEY.padEnd(64 * 1024)), { name: 'TransientError' });
});

test("if ssh can't connect and a proxy is configured, the error says that ssh doesn't use it", async (t) => {
  const messageWith = async (environment: NodeJS.ProcessEnv, repo = 'ssh://git@127.0.0.1:1/app.git') => {
    const tools = sshTools();
    tools.http.close();
    const http = new GitHttp(environment, tools.guard);
    t.after(() => http.close());
    const client = queryClient({ ...tools, http }, { namespace: 'default', git: { repo, auth: sshAuth } });
    return client.query(main).then(String, (error: TransientError) => `${error.code} ${error.message}`);
  };
  const proxyless = /^git\.refused .*; .* HTTPS_PROXY .* HTTP_PROXY/;
  assert.match(await messageWith({ HTTPS_PROXY: 'http://proxy.test' }), proxyless);
  assert.doesNotMatch(await messageWith({}), /PROXY/);
  assert.doesNotMatch(await messageWith({ HTTPS_PROXY: 'http://proxy.test' }, 'git://127.0.0.1:1/app.git'), /PROXY/);
});
