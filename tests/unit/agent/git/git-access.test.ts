import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  statfs,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { type AccessFiles, isAboutAccess, stampOf, withGitAccess } from '../../../../agent/git/git-access.ts';
import { removeKeyCopies } from '../../../../agent/git/ssh-key.ts';
import type { Reason } from '../../../../shared/api/reasons.ts';
import { TerminalError } from '../../../../shared/errors.ts';
import { AddressGuard } from '../../../../shared/io/address-guard.ts';
import { connectionErrorOf, gitErrorOf } from '../../../../shared/io/git/git-error.ts';
import { GuardedHttp } from '../../../../shared/io/http/guarded-http.ts';
import { REFUSING } from '../../../support/dead-address.ts';
import { slow } from '../../../support/depth.ts';
import { localHttp } from '../../../support/local-http.ts';
import { PRIVATE_KEY } from '../../../support/private-key.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const REPO = 'git@127.0.0.1:x';

const { signal } = new AbortController();
const anyHost = (repo: string) => ({ repo, ignoresHostKey: true, signal });

async function arrange(t: TestContext, { onDisk = false } = {}): Promise<{ directory: string; files: AccessFiles }> {
  const directory = await temporaryDirectory(t, 'access-', { onDisk });
  const http = localHttp();
  t.after(() => http.close());
  const none = {
    tokenFile: undefined,
    sshKeyFile: undefined,
    knownHostsFile: undefined,
    caFile: undefined,
    extraCaFile: undefined,
  };
  return { directory, files: { ...none, keyDirectory: directory, uid: process.getuid?.() ?? 0, http } };
}

suite('the files of an access to a repository', () => {
  test('count as changed when the kubelet adds, removes, or replaces one', async (t) => {
    const { directory, files } = await arrange(t);
    const mounted = { ...files, tokenFile: path.join(directory, 'token'), caFile: path.join(directory, 'ca') };
    const stamps = new Set([await stampOf(mounted)]);
    const isNews = async () => {
      const before = stamps.size;
      return stamps.add(await stampOf(mounted)).size > before;
    };
    assert.equal(await isNews(), false);
    for (const version of ['one', 'two']) {
      await mkdir(path.join(directory, version));
      await writeFile(path.join(directory, version, 'token'), 'secret');
      await symlink(version, path.join(directory, 'next'));
      await rename(path.join(directory, 'next'), path.join(directory, '..data'));
      if (version === 'one') await symlink('..data/token', mounted.tokenFile);
      assert.equal(await isNews(), true, version);
      assert.equal(await isNews(), false, version);
    }
    await writeFile(mounted.caFile, 'x');
    assert.equal(await isNews(), true);
  });

  test('are blamed for errors about credentials and certificates only', () => {
    const failed = (reason: Reason) => new TerminalError('', { code: '', reason });
    for (const reason of [
      'AuthenticationFailed',
      'RepositoryNotFound',
      'CertificateNotTrusted',
      'CredentialsMissing',
      'SignatureInvalid',
    ] as const)
      assert.ok(isAboutAccess(failed(reason)), reason);
    for (const error of [failed('ContentInvalid'), new Error('AuthenticationFailed')]) assert.ok(!isAboutAccess(error));
  });
});

suite('withGitAccess', () => {
  test('sends a token to the origin of an https repository only, and never over another transport', async (t) => {
    const { directory, files } = await arrange(t);
    const tokenFile = path.join(directory, 'token');
    await writeFile(tokenFile, 'secret\n');
    const authorizationFor = (repo: string) =>
      withGitAccess(anyHost(repo), { ...files, tokenFile }, async (access) => access.authorization);
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
    const kept = 'Secrets are mounted when a pod is created: recreate the pod if it is older than';
    for (const [reason, field] of [
      ['AuthenticationFailed', 'spec.git.auth'],
      ['RepositoryNotFound', 'spec.git.auth'],
      ['CertificateNotTrusted', 'spec.git.caSecretRef'],
      ['HostKeyVerificationFailed', 'spec.git.auth.sshKey.knownHosts'],
    ] as const) {
      await assert.rejects(refusedFor(reason), { code: 'git.played', reason, message: `refused; ${kept} ${field}` });
    }
    await assert.rejects(refusedFor('RefNotFound'), { message: 'refused' });
  });

  test('passes the address to connect to, over every transport', async (t) => {
    const { files } = await arrange(t);
    const targetOf = (repo: string) =>
      withGitAccess(anyHost(repo), { ...files, http }, async ({ origin, resolve, sshHost, rewrite, virtualHost }) => ({
        origin,
        resolve,
        sshHost,
        rewrite,
        virtualHost,
      }));
    const none = {
      origin: undefined,
      resolve: undefined,
      sshHost: undefined,
      rewrite: undefined,
      virtualHost: undefined,
    };
    const guard = new AddressGuard({ resolve: async () => [{ address: '127.0.0.1', family: 4 }] }, () => false);
    const http = new GuardedHttp({ guard, environment: {} });
    t.after(() => http.close());
    const address = '127.0.0.1';
    assert.deepEqual(await targetOf('https://localhost/x'), {
      ...none,
      origin: 'https://localhost',
      resolve: `localhost:443:${address}`,
    });
    // Git compares hosts letter by letter.
    for (const host of ['http://[0:0:0:0:0:0:0:1]:81', 'http://127.1', 'https://LocalHost:0443'])
      assert.equal((await targetOf(`${host}/x`)).origin, host);
    // Curl takes these for names, and the URL has an address.
    for (const host of ['10.0.0.1.', '10.1.', '10.0.0X1.', '10.0x'])
      assert.equal(
        (await targetOf(`https://${host}/x`)).resolve,
        `${host.toLowerCase()}:443:${new URL(`https://${host}`).hostname}`,
      );
    assert.deepEqual(await targetOf('http://localhost:81/x'), {
      ...none,
      origin: 'http://localhost:81',
      resolve: `localhost:81:${address}`,
    });
    assert.deepEqual(await targetOf('git@localhost:x'), {
      ...none,
      sshHost: { address, port: 22, alias: 'localhost' },
    });
    assert.deepEqual(await targetOf('ssh://localhost:23/x'), {
      ...none,
      sshHost: { address, port: 23, alias: '[localhost]:23' },
    });
    assert.deepEqual(await targetOf('ssh://127.0.0.1:23/x'), {
      ...none,
      sshHost: { address: '127.0.0.1', port: 23, alias: '[127.0.0.1]:23' },
    });
    await assert.rejects(targetOf('ssh://a%40127.0.0.1%3a22%2f@192.0.2.1/x'), { reason: 'InvalidRepository' });
    await assert.rejects(targetOf('https://xẞ.localhost/x'), {
      reason: 'InvalidRepository',
      message: /its xn-- form/,
    });
    assert.deepEqual(await targetOf('git://localhost:81/x'), {
      ...none,
      rewrite: { from: 'git://localhost:81/', to: `git://${address}:81/` },
      virtualHost: 'localhost:81',
    });
    assert.deepEqual(await targetOf('https://127.0.0.1/x'), { ...none, origin: 'https://127.0.0.1' });
  });
});

test('behind a proxy git gets no address, and an exception is connected to the checked address', async (t) => {
  const { files } = await arrange(t);
  const environment = { https_proxy: 'http://127.0.0.1:9', no_proxy: 'localhost, 10.0.0.0/8' };
  const http = new GuardedHttp({ guard: files.http.guard, environment });
  t.after(() => http.close());
  const wayTo = (repo: string) =>
    withGitAccess(anyHost(repo), { ...files, http }, async ({ isProxied, resolve }) => ({ isProxied, resolve }));
  assert.deepEqual(await wayTo('https://git.invalid/x'), { isProxied: true, resolve: undefined });
  assert.deepEqual(await wayTo('https://10.1.2.3/x'), { isProxied: undefined, resolve: undefined });
  assert.match((await wayTo('https://localhost/x')).resolve ?? '', /^localhost:443:/);
  await assert.rejects(wayTo('https://100.100.100.200/x'), { code: 'git.deniedAddress' });
  await assert.rejects(wayTo('http://git.invalid/x'), { name: 'TransientError' });
});

test("if ssh can't connect and a proxy is configured, the error says that ssh doesn't use it", async (t) => {
  const { files } = await arrange(t);
  const refused = Object.assign(new Error(), { code: 'ECONNREFUSED', syscall: 'connect' });
  const messageWith = async (
    environment: NodeJS.ProcessEnv,
    repo: string,
    error: unknown = connectionErrorOf(refused),
  ) => {
    const http = new GuardedHttp({ guard: files.http.guard, environment });
    t.after(() => http.close());
    const failing = withGitAccess(anyHost(repo), { ...files, http }, () => Promise.reject(error));
    return failing.catch(({ message }: Error) => message);
  };
  const proxied = { HTTPS_PROXY: 'http://proxy.test' };
  assert.match((await messageWith(proxied, REPO)) ?? '', /refused the connection.*; ssh doesn't use HTTPS_PROXY/);
  assert.match((await messageWith(proxied, 'git@git.invalid:x')) ?? '', /ssh doesn't use HTTPS_PROXY/);
  assert.doesNotMatch((await messageWith({}, REPO)) ?? '', /PROXY/);
  assert.doesNotMatch((await messageWith(proxied, 'git://127.0.0.1/x')) ?? '', /PROXY/);
  assert.doesNotMatch((await messageWith(proxied, REPO, gitErrorOf('error: 403'))) ?? '', /PROXY/);
});

test('a DNS query stops when the signal aborts', { timeout: 20_000 }, async (t) => {
  const { files } = await arrange(t);
  const guard = new AddressGuard({ resolve: () => new Promise(() => {}) }, () => false);
  const http = new GuardedHttp({ guard, environment: {} });
  t.after(() => http.close());
  for (const repo of ['https://git.test/x', 'git@git.test:x', 'git://git.test/x']) {
    const ending = new AbortController();
    const waiting = withGitAccess({ ...anyHost(repo), signal: ending.signal }, { ...files, http }, async () => {});
    ending.abort();
    await assert.rejects(waiting, { name: 'AbortError' });
  }
});

suite('the SSH key of a repository', () => {
  test('is used in place if ssh accepts it as it is mounted', async (t) => {
    const { directory, files } = await arrange(t);
    const sshKeyFile = path.join(directory, 'mounted');
    await writeFile(sshKeyFile, PRIVATE_KEY, { mode: 0o600 });
    const used = await withGitAccess(anyHost(REPO), { ...files, sshKeyFile }, async (access) => access.sshKeyFile);
    assert.equal(used, sshKeyFile);
    await chmod(sshKeyFile, 0o644);
    // As a mounted Secret is: another user's.
    const other = { ...files, sshKeyFile, uid: files.uid + 1 };
    assert.equal(await withGitAccess(anyHost(REPO), other, async (access) => access.sshKeyFile), sshKeyFile);
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
    const accessTo = (repo: string, ignoresHostKey: boolean, knownHostsFile?: string) =>
      withGitAccess(
        { repo, ignoresHostKey, signal },
        { ...files, sshKeyFile, knownHostsFile },
        async (access) => access,
      );
    for (const repo of ['git@127.0.0.1:x', 'ssh://127.0.0.1/x']) {
      await assert.rejects(accessTo(repo, false), {
        name: 'TerminalError',
        reason: 'KnownHostsMissing',
        message: /spec\.git\.auth\.sshKey\.knownHosts/,
      });
      assert.equal((await accessTo(repo, true)).ignoresHostKey, true);
      const { knownHostsFile, ignoresHostKey } = await accessTo(repo, false, '/known');
      assert.deepEqual([knownHostsFile, ignoresHostKey], ['/known', false]);
    }
    assert.equal((await accessTo('https://127.0.0.1/x', false)).ignoresHostKey, false);
  });
});

test('curl gets all addresses of a host, and first the one that accepts a connection', slow, async (t) => {
  const { files } = await arrange(t);
  const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const addresses = [REFUSING, '2001:db8::1', '127.0.0.1'];
  const resolve = async () => addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  const http = new GuardedHttp({ guard: new AddressGuard({ resolve }, () => false), environment: {} });
  t.after(() => http.close());
  const given = withGitAccess(
    anyHost(`http://git.test:${port}/x`),
    { ...files, http },
    async (access) => access.resolve,
  );
  assert.equal(await given, `git.test:${port}:127.0.0.1,${REFUSING},[2001:db8::1]`);
});
