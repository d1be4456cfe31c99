import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GitHttp } from '../../../../controller/polling/git-http.ts';
import type { TransientError } from '../../../../shared/errors.ts';
import { AddressGuard } from '../../../../shared/io/address-guard.ts';
import { Git, type GitOptions } from '../../../../shared/io/git/git.ts';
import { PRIVATE_KEY } from '../../../support/private-key.ts';
import { queryClient, sshAuth, sshTools } from './query-world.ts';

const main = { prefixes: ['refs/heads/main'] };

test("ssh connects to the given address, and uses the host's own name in known_hosts", async (t) => {
  const seen: unknown[] = [];
  class Recorder extends Git {
    override async run(_: string[], { access }: GitOptions = {}): Promise<Buffer> {
      seen.push(access?.sshHost);
      return Buffer.alloc(0);
    }
  }
  const guard = new AddressGuard({ resolve: async () => [{ address: '192.0.2.1', family: 4 }] }, () => false);
  const tools = { ...sshTools(), guard, git: new Recorder({}) };
  t.after(() => tools.http.close());
  for (const [repo, sshHost] of [
    ['git@Git.test:app', { address: '192.0.2.1', port: 22, alias: 'git.test' }],
    ['ssh://git.test:2222/app', { address: '192.0.2.1', port: 2222, alias: '[git.test]:2222' }],
    ['ssh://192.0.2.9:2222/app', { address: '192.0.2.9', port: 2222, alias: '[192.0.2.9]:2222' }],
    ['ssh://[2001:db8::1]/app', { address: '2001:db8::1', port: 22, alias: '2001:db8::1' }],
  ] as const) {
    await queryClient(tools, { namespace: 'default', git: { repo, auth: sshAuth } }).query(main);
    assert.deepEqual(seen.pop(), sshHost, repo);
  }
});

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
  const proxyless = /^git\.refused .*; ssh doesn't use HTTPS_PROXY or HTTP_PROXY/;
  assert.match(await messageWith({ HTTPS_PROXY: 'http://proxy.test' }), proxyless);
  assert.doesNotMatch(await messageWith({}), /PROXY/);
  assert.doesNotMatch(await messageWith({ HTTPS_PROXY: 'http://proxy.test' }, 'git://127.0.0.1:1/app.git'), /PROXY/);
});
