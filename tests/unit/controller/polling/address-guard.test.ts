import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { configSchema } from '../../../../controller/config.ts';
import { GitHttp } from '../../../../controller/polling/git-http.ts';
import type { RepositorySource } from '../../../../controller/polling/repository-client.ts';
import { readConfig } from '../../../../shared/config.ts';
import { AddressGuard } from '../../../../shared/io/address-guard.ts';
import { isLocalAddress } from '../../../../shared/io/local-address.ts';
import { Networks } from '../../../../shared/io/networks.ts';
import { slow } from '../../../support/depth.ts';
import { gitDaemonFor, gitServerFor } from '../../../support/git-server-for.ts';
import { startTcpServer } from '../../../support/tcp-server.ts';
import { until } from '../../../support/until.ts';
import { queryClient, queryTools, sshAuth, sshTools, startHost } from './query-world.ts';

const defaults = readConfig(configSchema, { WEBHOOK_PORT: '0' }).GIT_DENIED_NETWORKS;
const main = { prefixes: ['refs/heads/main'] };

/** A client that resolves names to the lists of addresses in sequence; the last one remains. */
function arrange(t: TestContext, repo: string, names: Record<string, string[][]>, denied = new Networks(defaults)) {
  const lookups: string[] = [];
  const resolve = async (name: string) => {
    lookups.push(name);
    const answers = names[name] ?? [];
    const addresses = (answers.length > 1 ? answers.shift() : answers[0]) ?? [];
    return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  };
  const guard = new AddressGuard({ resolve }, (address) => denied.has(address));
  const http = new GitHttp({}, guard);
  t.after(() => http.close());
  const tools = { ...sshTools(), guard, http };
  const git = { repo, ...(repo.startsWith('ssh:') ? { auth: sshAuth } : {}) };
  return { lookups, client: queryClient(tools, { namespace: 'default', git }) };
}

/** The servers of the test are local, so 127.0.0.1 is allowed here, and 127.0.0.2 stands for a denied address. */
const other = new Networks(['127.0.0.2/32']);

suite('the addresses denied by default include', () => {
  const denied = new Networks(defaults);
  for (const address of [
    ...['127.9.9.9', '169.254.169.254', '0.0.0.0', '100.100.100.200', '168.63.129.16'],
    ...['::1', '::', 'fe80::1%eth0', 'fd00:ec2::254', '::ffff:7f00:1', 'fd00:ec2::23', 'fd20:ce::254'],
    ...['64:ff9b::a9fe:a9fe', '64:ff9b::6464:64c8', '2002:a9fe:a9fe::1', '::169.254.169.254'],
    // 169.254.169.254 behind prefixes of 48, 56, 64, and 96 bits.
    ...['64:ff9b:1:a9fe:a9:fe00::', '64:ff9b:1:aba9:fe:a9fe::', '64:ff9b:1:abcd:a9:fea9:fe00:0'],
    '64:ff9b:1:ab00::a9fe:a9fe',
  ]) {
    test(address, () => assert.ok(denied.has(address)));
  }

  test('no others', () => {
    const others = [
      ...['10.0.0.1', '192.168.0.1', '100.100.100.201', 'fd00::1', '2001:db8::1', '64:ff9b::a00:1', '2002:a00:1::1'],
      ...['64:ff9b:1::808:808', '64:ff9b:1:808:8:800::', '64:ff9b:1:abcd:8:808:800:0', '64:ff9b:1::8:8:808:0'],
      ...['64:ff9b:2:a9fe:a9:fe00::', '64:ff9b::a9fe:a9:fe00:0', '::10.0.0.1', 'x'],
    ];
    for (const address of others) assert.ok(!denied.has(address), address);
  });

  test('all local ones, which an installation can allow', () => {
    const local = ['169.254.169.254', '100.100.100.200', 'fd00:ec2::254'].filter((address) => isLocalAddress(address));
    assert.deepEqual(local, ['169.254.169.254']);
  });
});

suite('a denied address is never connected to', { concurrency: 4 }, () => {
  const refusal = { name: 'TerminalError', reason: 'AddressDenied' };

  for (const transport of ['http', 'https', 'ssh', 'git']) {
    for (const [host, addresses] of [
      ['git.test', ['192.0.2.1', 'fd00:ec2::254']],
      ['100.100.100.200', []],
    ] as const) {
      test(`over ${transport}, ${host} ${addresses}`, async (t) => {
        const { client } = arrange(t, `${transport}://${host}/app.git`, { 'git.test': [[...addresses]] });
        await assert.rejects(client.query(main), refusal);
      });
    }
  }

  test('by a proxy', async (t) => {
    const denied = new Networks(defaults);
    const resolve = async () => [{ address: '169.254.169.254', family: 4 }];
    const guard = new AddressGuard({ resolve }, (address) => denied.has(address));
    const http = new GitHttp({ HTTP_PROXY: 'http://127.0.0.1:1' }, guard);
    t.after(() => http.close());
    const tools = { ...queryTools(), guard, http };
    const client = queryClient(tools, { namespace: 'default', git: { repo: 'http://git.test/app.git' } });
    await assert.rejects(client.query(main), refusal);
  });
});

suite('a host name without an address is an unreachable server, without other effects,', () => {
  for (const transport of ['http', 'git']) {
    test(`over ${transport}`, async (t) => {
      const { client } = arrange(t, `${transport}://git.test/app.git`, { 'git.test': [[]] });
      await assert.rejects(client.query(main), { name: 'TransientError', code: 'git.unknownName' });
    });
  }
});

suite('a host name is resolved once per connection, and only that address is used,', { concurrency: 4 }, () => {
  const moving = () => ({ 'git.test': [['127.0.0.1'], ['127.0.0.2']] });

  test('over HTTP', slow, async (t) => {
    const server = await gitServerFor(t);
    const repository = await server.createRepository('app');
    const commit = await repository.commit({ files: { a: '1' } });
    const { client, lookups } = arrange(t, repository.url.replace('127.0.0.1', 'git.test'), moving(), other);
    assert.equal((await client.query(main)).get('refs/heads/main'), commit);
    assert.equal(lookups.length, 1);
  });

  test('over git://, and the server gets its name', slow, async (t) => {
    const daemon = await gitDaemonFor(t);
    const repository = await daemon.createRepository('app');
    const commit = await repository.commit({ files: { a: '1' } });
    const { client, lookups } = arrange(t, repository.url.replace('127.0.0.1', 'git.test'), moving(), other);
    assert.equal((await client.query({ ...main, commit })).get('refs/heads/main'), commit);
    assert.equal(lookups.length, 1);
    const { port, received } = await startListener(t);
    await assert.rejects(arrange(t, `git://git.test:${port}/app.git`, moving(), other).client.query(main));
    const asked = new RegExp(`git-upload-pack /app\\.git\\0host=git\\.test:${port}\\0`);
    await until(received, { accept: (text) => asked.test(text), describe: 'the question with the name of the host' });
  });

  test('over ssh', slow, async (t) => {
    const { port, received } = await startListener(t);
    const { client, lookups } = arrange(t, `ssh://git@git.test:${port}/app.git`, moving(), other);
    await assert.rejects(client.query(main), { name: 'TransientError' });
    assert.match(received(), /^SSH-2\.0-/);
    assert.equal(lookups.length, 1);
  });
});

test('ssh connects to the given address, whatever host and port git reads in the URL', async (t) => {
  const { port, received } = await startListener(t);
  const elsewhere = await startListener(t);
  const access = { sshHost: { address: '127.0.0.1', port, alias: 'git.test' }, ignoresHostKey: true };
  const { git } = queryTools();
  await assert.rejects(git.run(['ls-remote', `ssh://git@localhost:${elsewhere.port}/app.git`], { access }));
  assert.match(received(), /^SSH-2\.0-/);
  assert.equal(elsewhere.received(), '');
});

test('a URL in which git could find another host than the checked one is rejected', async (t) => {
  const { port, received } = await startListener(t);
  for (const scheme of ['ssh', 'git']) {
    const { client } = arrange(t, `${scheme}://a%40127.0.0.1%3a${port}%2f@192.0.2.1/app.git`, {});
    await assert.rejects(client.query(main), { name: 'TerminalError', reason: 'InvalidRepository' });
  }
  const { client } = arrange(t, `git://xẞ.localhost:${port}/app.git`, {});
  await assert.rejects(client.query(main), { reason: 'InvalidRepository', message: /its xn-- form/ });
  assert.equal(received(), '');
});

suite('ssh without known_hosts is rejected before any connection', { concurrency: true }, () => {
  const { insecureIgnoreHostKey: _, ...sshKey } = sshAuth.sshKey;
  for (const [what, auth] of [
    ['with a key', { sshKey: { ...sshKey, insecureIgnoreHostKey: false } }],
    ['with no credentials', undefined],
  ] as const) {
    test(what, async (t) => {
      const { port, received } = await startListener(t);
      const tools = sshTools();
      t.after(() => tools.http.close());
      const git = { repo: `ssh://git@127.0.0.1:${port}/app.git`, ...(auth ? { auth } : {}) };
      await assert.rejects(queryClient(tools, { namespace: 'default', git } as RepositorySource).query(main), {
        name: 'TerminalError',
        reason: 'KnownHostsMissing',
      });
      assert.equal(received(), '');
    });
  }
});

suite('a redirect of a git server', { concurrency: 4 }, () => {
  test('within the server is followed', async (t) => {
    const server = await gitServerFor(t);
    const repository = await server.createRepository('app');
    const commit = await repository.commit({ files: { a: '1' } });
    const url = await startHost(t, (request, response) => {
      response.writeHead(301, { Location: `${server.url}${request.url}` }).end();
    });
    const { client } = arrange(t, url, {}, other);
    assert.equal((await client.query(main)).get('refs/heads/main'), commit);
  });

  test("to another server isn't followed", async (t) => {
    const { port, received } = await startListener(t);
    const url = await startHost(t, (_, response) => {
      response.writeHead(301, { Location: `http://git.test:${port}/app.git/info/refs` }).end();
    });
    const { client } = arrange(t, url, { 'git.test': [['127.0.0.1']] }, other);
    await assert.rejects(client.query(main), { name: 'TerminalError', reason: 'UnexpectedRedirect' });
    assert.equal(received(), '');
  });
});

/** Starts a TCP server that disconnects after the first bytes, and reads those still in transit. */
async function startListener(t: TestContext) {
  let text = '';
  const port = await startTcpServer(t, (socket) => {
    const read = (chunk: Buffer) => {
      text += chunk.toString('latin1');
    };
    socket.on('data', read).once('data', () => socket.end());
  });
  return { port, received: () => text };
}
