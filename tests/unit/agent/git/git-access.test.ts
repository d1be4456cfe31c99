import assert from 'node:assert/strict';
import type { LookupAddress } from 'node:dns';
import { chmod, mkdtemp, readdir, readFile, rm, stat, statfs, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { type AccessFiles, withGitAccess } from '../../../../agent/git/git-access.ts';
import { removeKeyCopies } from '../../../../agent/git/ssh-key.ts';
import type { Reason } from '../../../../shared/api/reasons.ts';
import { withoutUndefined } from '../../../../shared/domain/text/objects.ts';
import { TerminalError } from '../../../../shared/errors.ts';
import { AddressGuard } from '../../../../shared/io/address-guard.ts';
import type { GitAccess } from '../../../../shared/io/git/git-environment.ts';
import { connectionErrorOf, gitErrorOf } from '../../../../shared/io/git/git-error.ts';
import { GuardedHttp } from '../../../../shared/io/http/guarded-http.ts';
import { REFUSING } from '../../../support/dead-address.ts';
import { slow } from '../../../support/depth.ts';
import { localHttp } from '../../../support/local-http.ts';
import { PRIVATE_KEY } from '../../../support/private-key.ts';
import { startTcpServer } from '../../../support/tcp-server.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const REPO = 'git@127.0.0.1:x';

const { signal } = new AbortController();
const anyHost = (repo: string) => ({ repo, ignoresHostKey: true, signal });

async function arrange(t: TestContext, { onDisk = false, http = localHttp() } = {}) {
  const directory = await temporaryDirectory(t, 'access-', { onDisk });
  t.after(() => http.close());
  const none = {
    tokenFile: undefined,
    sshKeyFile: undefined,
    knownHostsFile: undefined,
    caFile: undefined,
    extraCaFile: undefined,
  };
  const files: AccessFiles = { ...none, keyDirectory: directory, uid: process.getuid?.() ?? 0, http };
  /** Some of the access to a repository. */
  const accessTo = <T>(repo: string, pick: (access: GitAccess) => T, more: Partial<AccessFiles> = {}) =>
    withGitAccess(anyHost(repo), { ...files, ...more }, async (access) => pick(access));
  return { directory, files, accessTo };
}

const httpThat = (resolve: (name: string) => Promise<LookupAddress[]>) =>
  new GuardedHttp({ guard: new AddressGuard({ resolve }, () => false), environment: {} });

suite('withGitAccess', () => {
  test('sends a token to the origin of an https repository only, and never over another transport', async (t) => {
    const { directory, accessTo } = await arrange(t);
    const tokenFile = path.join(directory, 'token');
    await writeFile(tokenFile, 'secret\n');
    const authorizationFor = (repo: string) => accessTo(repo, ({ authorization }) => authorization, { tokenFile });
    assert.deepEqual(await authorizationFor('https://127.0.0.1:8443/org/x'), {
      origin: 'https://127.0.0.1:8443',
      value: `Basic ${Buffer.from('x-access-token:secret').toString('base64')}`,
      user: 'x-access-token',
    });
    for (const repo of ['http://127.0.0.1/x', 'git://127.0.0.1/x', REPO]) {
      assert.equal(await authorizationFor(repo), undefined);
    }
  });

  test('trusts the CAs of the installation in addition to those of the system, while they exist', async (t) => {
    const { directory, files } = await arrange(t);
    const extraCaFile = path.join(directory, 'ca.crt');
    const bundleFor = (repo: string, more: Partial<AccessFiles> = {}) =>
      withGitAccess(anyHost(repo), { ...files, extraCaFile, ...more }, async ({ caFile }) => ({
        caFile,
        text: caFile && (await readFile(caFile, 'utf8').catch(() => '')),
      }));
    assert.equal((await bundleFor('https://127.0.0.1/x')).caFile, undefined, 'nobody has made the ConfigMap');
    await writeFile(extraCaFile, '\n');
    assert.equal((await bundleFor('https://127.0.0.1/x')).caFile, undefined, 'it is empty');

    await writeFile(extraCaFile, '-- the CA of the company --');
    const system = await readFile('/etc/ssl/certs/ca-certificates.crt', 'utf8').catch(() => '-----BEGIN CERTIFICATE');
    // Git LFS uses https even if the repository uses ssh.
    for (const repo of ['https://127.0.0.1/x', REPO]) {
      const { text = '' } = await bundleFor(repo);
      assert.ok(text.startsWith(system), 'those of the system');
      assert.ok(text.endsWith('\n-- the CA of the company --\n'));
    }
    assert.deepEqual(await readdir(directory), ['ca.crt'], 'nothing is left');

    const caFile = path.join(directory, 'of-the-resource');
    assert.equal((await bundleFor('https://127.0.0.1/x', { caFile })).caFile, caFile, 'it replaces all others');
  });

  test('adds to a refusal that the pod may be older than the Secret that the resource names', async (t) => {
    const { files } = await arrange(t);
    const refusedFor = (reason: Reason) =>
      withGitAccess(anyHost('https://127.0.0.1/x'), files, () => {
        throw new TerminalError('refused', { code: 'git.played', reason });
      });
    for (const [reason, message] of [
      ['AuthenticationFailed', / spec\.git\.auth$/],
      ['RepositoryNotFound', / spec\.git\.auth$/],
      ['CertificateNotTrusted', / spec\.git\.caSecretRef$/],
      ['HostKeyVerificationFailed', / spec\.git\.auth\.sshKey\.knownHosts$/],
    ] as const) {
      await assert.rejects(refusedFor(reason), { code: 'git.played', reason, message });
    }
    await assert.rejects(refusedFor('RefNotFound'), { message: 'refused' });
  });

  test('passes the address to connect to, over every transport', async (t) => {
    const address = '127.0.0.1';
    const { accessTo } = await arrange(t, { http: httpThat(async () => [{ address, family: 4 }]) });
    const targetOf = (repo: string) =>
      accessTo(repo, ({ origin, resolve, sshHost, rewrite, virtualHost }) =>
        withoutUndefined({ origin, resolve, sshHost, rewrite, virtualHost }),
      );
    const targets: [repo: string, expected: object][] = [
      ['https://localhost/x', { origin: 'https://localhost', resolve: `localhost:443:${address}` }],
      ['http://localhost:81/x', { origin: 'http://localhost:81', resolve: `localhost:81:${address}` }],
      ['https://127.0.0.1/x', { origin: 'https://127.0.0.1' }],
      // Git compares hosts letter by letter.
      ['http://[0:0:0:0:0:0:0:1]:81/x', { origin: 'http://[0:0:0:0:0:0:0:1]:81' }],
      ['https://LocalHost:0443/x', { origin: 'https://LocalHost:0443', resolve: `localhost:443:${address}` }],
      // Curl takes these for names, and the URL has an address.
      ['https://10.1./x', { origin: 'https://10.1.', resolve: '10.1.:443:10.0.0.1' }],
      ['https://10.0.0X1./x', { origin: 'https://10.0.0X1.', resolve: '10.0.0x1.:443:10.0.0.1' }],
      ['git@localhost:x', { sshHost: { address, port: 22, alias: 'localhost' } }],
      ['ssh://localhost:23/x', { sshHost: { address, port: 23, alias: '[localhost]:23' } }],
      [
        'git://localhost:81/x',
        { rewrite: { from: 'git://localhost:81/', to: `git://${address}:81/` }, virtualHost: 'localhost:81' },
      ],
    ];
    for (const [repo, expected] of targets) assert.deepEqual(await targetOf(repo), expected, repo);
    for (const repo of ['ssh://a%40127.0.0.1%3a22%2f@192.0.2.1/x', 'https://xẞ.localhost/x'])
      await assert.rejects(targetOf(repo), { reason: 'InvalidRepository' });
  });

  test('passes no address behind a proxy, and checks that of an exception', async (t) => {
    const environment = { https_proxy: 'http://127.0.0.1:9', no_proxy: 'localhost, 10.0.0.0/8' };
    const { accessTo } = await arrange(t, { http: localHttp(undefined, environment) });
    const wayTo = (repo: string) => accessTo(repo, ({ isProxied, resolve }) => ({ isProxied, resolve }));
    assert.deepEqual(await wayTo('https://git.invalid/x'), { isProxied: true, resolve: undefined });
    assert.deepEqual(await wayTo('https://10.1.2.3/x'), { isProxied: undefined, resolve: undefined });
    assert.match((await wayTo('https://localhost/x')).resolve ?? '', /^localhost:443:/);
    await assert.rejects(wayTo('https://100.100.100.200/x'), { code: 'git.deniedAddress' });
    await assert.rejects(wayTo('http://git.invalid/x'), { name: 'TransientError' });
  });

  test('passes all addresses of a host to curl, and first the one that accepts a connection', slow, async (t) => {
    const port = await startTcpServer(t, (socket) => socket.destroy());
    const addresses = [REFUSING, '2001:db8::1', '127.0.0.1'];
    const http = httpThat(async () => addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })));
    const { accessTo } = await arrange(t, { http });
    const given = await accessTo(`http://git.test:${port}/x`, ({ resolve }) => resolve);
    assert.equal(given, `git.test:${port}:127.0.0.1,${REFUSING},[2001:db8::1]`);
  });
});

test("if ssh can't connect and a proxy is configured, the error says that ssh doesn't use it", async (t) => {
  const refused = connectionErrorOf(Object.assign(new Error(), { code: 'ECONNREFUSED', syscall: 'connect' }));
  const messageWith = async (HTTPS_PROXY: string | undefined, repo: string, error: unknown = refused) => {
    const { files } = await arrange(t, { http: localHttp(undefined, withoutUndefined({ HTTPS_PROXY })) });
    const failing = withGitAccess(anyHost(repo), files, () => Promise.reject(error));
    return await failing.catch(({ message }: Error) => message);
  };
  const proxy = 'http://proxy.test';
  for (const repo of [REPO, 'git@git.invalid:x'])
    assert.match((await messageWith(proxy, repo)) ?? '', /\bHTTPS_PROXY\b/);
  assert.doesNotMatch((await messageWith(undefined, REPO)) ?? '', /PROXY/);
  assert.doesNotMatch((await messageWith(proxy, 'git://127.0.0.1/x')) ?? '', /PROXY/);
  assert.doesNotMatch((await messageWith(proxy, REPO, gitErrorOf('error: 403'))) ?? '', /PROXY/);
});

test('a DNS query stops when the signal aborts', { timeout: 20_000 }, async (t) => {
  const { files } = await arrange(t, { http: httpThat(() => new Promise(() => {})) });
  for (const repo of ['https://git.test/x', 'git@git.test:x', 'git://git.test/x']) {
    const ending = new AbortController();
    const waiting = withGitAccess({ ...anyHost(repo), signal: ending.signal }, files, async () => {});
    ending.abort();
    await assert.rejects(waiting, { name: 'AbortError' });
  }
});

suite('the SSH key of a repository', () => {
  test('is used in place if ssh accepts it as it is mounted', async (t) => {
    const { directory, files, accessTo } = await arrange(t);
    const sshKeyFile = path.join(directory, 'mounted');
    await writeFile(sshKeyFile, PRIVATE_KEY, { mode: 0o600 });
    const used = (uid: number) => accessTo(REPO, (access) => access.sshKeyFile, { sshKeyFile, uid });
    assert.equal(await used(files.uid), sshKeyFile);
    await chmod(sshKeyFile, 0o644);
    // As a mounted Secret is: another user's.
    assert.equal(await used(files.uid + 1), sshKeyFile);
  });

  test('is never copied to a disk', async (t) => {
    const { directory, files } = await arrange(t, { onDisk: true });
    const sshKeyFile = path.join(directory, 'mounted');
    await writeFile(sshKeyFile, PRIVATE_KEY.trimEnd(), { mode: 0o600 });
    if ((await statfs(directory)).type === 0x01021994) return t.skip('temporary folders are in memory here');
    await assert.rejects(
      withGitAccess(anyHost(REPO), { ...files, sshKeyFile }, async () => {}),
      { name: 'TerminalError', code: 'git.keyOnDisk' },
    );
    assert.deepEqual(await readdir(directory), ['mounted']);
  });

  test('is copied to memory for the duration of the call if ssh would refuse it', async (t) => {
    const { directory, files } = await arrange(t);
    const keyDirectory = await mkdtemp('/dev/shm/access-').catch(() => undefined);
    if (!keyDirectory) return t.skip('there is no /dev/shm');
    t.after(() => rm(keyDirectory, { recursive: true }));
    const sshKeyFile = path.join(directory, 'mounted');
    const copy = path.join(keyDirectory, 'sync-agent-ssh-key');
    await writeFile(copy, 'of a killed agent', { mode: 0o644 });
    for (const key of [PRIVATE_KEY.trimEnd(), PRIVATE_KEY.replaceAll('\n', '\r\n')]) {
      await writeFile(sshKeyFile, key, { mode: 0o644 });
      await withGitAccess(anyHost(REPO), { ...files, sshKeyFile, keyDirectory }, async (access) => {
        assert.equal(access.sshKeyFile, copy);
        assert.equal(await readFile(copy, 'utf8'), PRIVATE_KEY);
        assert.equal((await stat(copy)).mode & 0o777, 0o600);
      });
      await assert.rejects(stat(copy), { code: 'ENOENT' });
    }
  });

  test('is removed if a killed agent left a copy of it', async (t) => {
    const { directory } = await arrange(t);
    await writeFile(path.join(directory, 'sync-agent-ssh-key'), 'KEY');
    await writeFile(path.join(directory, 'HEAD'), '');
    await writeFile(path.join(directory, 'sync-agent-ssh-key.backup'), 'of a person');
    await removeKeyCopies([directory, path.join(directory, 'none')]);
    assert.deepEqual((await readdir(directory)).sort(), ['HEAD', 'sync-agent-ssh-key.backup']);
  });

  test("isn't used without known_hosts, unless the resource allows that", async (t) => {
    const { directory, files } = await arrange(t);
    const sshKeyFile = path.join(directory, 'mounted');
    await writeFile(sshKeyFile, PRIVATE_KEY, { mode: 0o600 });
    const trustOf = (repo: string, ignoresHostKey: boolean, knownHostsFile?: string) =>
      withGitAccess({ repo, ignoresHostKey, signal }, { ...files, sshKeyFile, knownHostsFile }, async (access) => [
        access.knownHostsFile,
        access.ignoresHostKey,
      ]);
    for (const repo of ['git@127.0.0.1:x', 'ssh://127.0.0.1/x']) {
      await assert.rejects(trustOf(repo, false), { name: 'TerminalError', reason: 'KnownHostsMissing' });
      assert.deepEqual(await trustOf(repo, true), [undefined, true]);
      assert.deepEqual(await trustOf(repo, false, '/known'), ['/known', false]);
    }
    assert.deepEqual(await trustOf('https://127.0.0.1/x', false), [undefined, false]);
  });
});
