import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { suite, type TestContext, test } from 'node:test';
import { type AccessFiles, withGitAccess } from '../../../agent/git/git-access.ts';
import { GitHttp } from '../../../controller/polling/git-http.ts';
import type { GitRepository } from '../../../scripts/testbed/git-repository.ts';
import { startGitServer } from '../../../scripts/testbed/git-server.ts';
import { AddressGuard } from '../../../shared/io/address-guard.ts';
import { Git } from '../../../shared/io/git/git.ts';
import { GuardedHttp } from '../../../shared/io/http/guarded-http.ts';
import { REFUSING, silentAddress } from '../../support/dead-address.ts';
import { slow } from '../../support/depth.ts';
import { startGitDaemon } from '../../support/git-daemon.ts';
import { skipWithoutSshd, startSshServer } from '../../support/ssh-server.ts';
import { queryClient, queryTools, sshAuth, sshTools } from '../controller/polling/query-world.ts';

const main = { prefixes: ['refs/heads/main'] };
const git = new Git({ PATH: process.env.PATH });

interface Server {
  createRepository(name: string): Promise<GitRepository>;
  stop(): Promise<void>;
  keyFile?: string;
}

/** A server of one kind on 127.0.0.1, as the host `git.test`. */
async function startHost(t: TestContext, start: () => Promise<Server>) {
  const server = await start();
  t.after(() => server.stop());
  const repository = await server.createRepository('app');
  const commit = await repository.commit({ files: { a: '1' } });
  const { keyFile } = server;
  const key = keyFile && (await readFile(keyFile, 'utf8'));
  const url = repository.url.replace('127.0.0.1', 'git.test');
  return { url, port: Number(new URL(url).port), commit, keyFile, key };
}

type Host = Awaited<ReturnType<typeof startHost>>;

function guardOf(addresses: string[], isDenied: (address: string) => boolean = () => false): AddressGuard {
  const resolve = async () => addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  return new AddressGuard({ resolve }, isDenied);
}

/** What the controller sees of the branch. */
async function query(t: TestContext, { url, key }: Host, guard: AddressGuard): Promise<string | undefined> {
  const http = new GitHttp({}, guard);
  t.after(() => http.close());
  const tools = { ...(key ? sshTools(key) : queryTools()), guard, http };
  const source = { repo: url, ...(key && { auth: sshAuth }) };
  // A client of ssh has a process for each silent address, so a busy machine exceeds the usual 20 s.
  const client = queryClient(tools, { namespace: 'default', git: source }, 60_000);
  return (await client.query(main)).get('refs/heads/main');
}

/** What git sees of it with the access of the agent. */
async function fetchAsAgent(t: TestContext, { url, keyFile }: Host, guard: AddressGuard): Promise<string> {
  const http = new GuardedHttp({ guard, environment: {} });
  t.after(() => http.close());
  const none = { tokenFile: undefined, knownHostsFile: undefined, caFile: undefined, extraCaFile: undefined };
  const files: AccessFiles = {
    ...none,
    sshKeyFile: keyFile,
    keyDirectory: '/dev/shm',
    uid: process.getuid?.() ?? 0,
    http,
  };
  const source = { repo: url, ignoresHostKey: true, signal: t.signal };
  const output = await withGitAccess(source, files, (access) => git.run(['ls-remote', url, 'main'], { access }));
  return output.toString().split('\t')[0] ?? '';
}

async function assertReached(t: TestContext, host: Host, guard: AddressGuard): Promise<void> {
  const [controller, agent] = await Promise.all([query(t, host, guard), fetchAsAgent(t, host, guard)]);
  assert.deepEqual({ controller, agent }, { controller: host.commit, agent: host.commit });
}

const servers: [transport: string, start: () => Promise<Server>, skip: string | false][] = [
  ['http', startGitServer, false],
  ['git', startGitDaemon, false],
  ['ssh', startSshServer, skipWithoutSshd],
];

for (const [transport, start, skip] of servers) {
  suite(`over ${transport}, a server is reached`, { skip, concurrency: true }, () => {
    test('on its second address if the first one refuses connections, or is of IPv6', async (t) => {
      const host = await startHost(t, start);
      for (const first of [REFUSING, '::1']) await assertReached(t, host, guardOf([first, '127.0.0.1']));
    });

    test('on its last address if three are silent', slow, async (t) => {
      const host = await startHost(t, start);
      const silent = ['127.0.0.5', '127.0.0.6', '127.0.0.7'].map((address) => silentAddress(t, host.port, address));
      const guard = guardOf([...(await Promise.all(silent)), '127.0.0.1']);
      await assertReached(t, host, guard);
    });

    test('at none of its addresses if one is denied, in any position', async (t) => {
      const host = await startHost(t, start);
      const more = Array.from({ length: 9 }, (_, index) => `192.0.2.${index}`);
      const guard = guardOf(['127.0.0.1', ...more, '169.254.169.254'], (address) => address.startsWith('169.'));
      const refusal = { name: 'TerminalError', reason: 'AddressDenied' };
      await assert.rejects(query(t, host, guard), refusal);
      await assert.rejects(fetchAsAgent(t, host, guard), refusal);
    });

    test('at none if none accepts a connection, and the error is that of one with a route', async (t) => {
      const host = await startHost(t, start);
      const noRoute = '255.255.255.255';
      const refusal = { name: 'TransientError', code: 'git.refused' };
      for (const addresses of [
        [REFUSING, noRoute],
        [noRoute, REFUSING],
      ]) {
        await assert.rejects(query(t, host, guardOf(addresses)), refusal);
        await assert.rejects(fetchAsAgent(t, host, guardOf(addresses)), refusal);
      }
    });
  });
}

test('at most four addresses are tried, of both families', async () => {
  const version4 = ['192.0.2.1', '192.0.2.2', '192.0.2.3'];
  const version6 = ['2001:db8::1', '2001:db8::2', '2001:db8::3'];
  const ordered = async (addresses: string[]) => await guardOf(addresses).addressesOf('git.test');
  assert.deepEqual(await ordered([...version6, ...version4]), ['2001:db8::1', '192.0.2.1', '2001:db8::2', '192.0.2.2']);
  assert.deepEqual(await ordered([...version4, '2001:db8::1']), ['192.0.2.1', '2001:db8::1', '192.0.2.2', '192.0.2.3']);
  assert.deepEqual(await ordered([...version4, '192.0.2.4', '192.0.2.5']), [...version4, '192.0.2.4']);
  assert.deepEqual(await ordered(['2001:db8::1', '2001:db8::1']), ['2001:db8::1'], 'each one once');
});
