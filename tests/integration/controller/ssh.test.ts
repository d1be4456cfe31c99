import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { after, before, suite, type TestContext, test } from 'node:test';
import { apply, createNamespace, kubectl } from '../../support/cluster.ts';
import { slow } from '../../support/depth.ts';
import { applyGatewaySync, condition, untilCommit, untilCondition } from '../../support/gateway-syncs.ts';
import { isGone } from '../../support/is-gone.ts';
import { startSlowLink } from '../../support/slow-link.ts';
import { type SshServer, skipWithoutSshd, startSshServer } from '../../support/ssh-server.ts';
import { startControllerProcess } from '../../support/start-controller.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';
import { processArguments } from './process-arguments.ts';

/** Files below a directory, by relative path; those that are deleted in the meantime are omitted. */
async function filesBelow(directory: string): Promise<Map<string, { mode: number; content: string }>> {
  const files = new Map<string, { mode: number; content: string }>();
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    const file = path.join(entry.parentPath, entry.name);
    const read = async () => ({ mode: (await stat(file)).mode & 0o777, content: await readFile(file, 'utf8') });
    const found = entry.isFile() ? await read().catch(() => undefined) : undefined;
    if (found) files.set(path.relative(directory, file), found);
  }
  return files;
}

suite('a repository behind ssh', { skip: skipWithoutSshd, concurrency: 4 }, () => {
  let server: SshServer;
  before(async () => {
    server = await startSshServer();
  });
  after(() => server.stop());

  /** A namespace with the Secret `ssh`, and a controller with a separate directory for its files. */
  async function arrange(t: TestContext, secret: Record<string, string>) {
    const namespace = await createNamespace(t);
    const directory = await temporaryDirectory(t, 'controller-files-');
    const replaceSecret = (stringData: Record<string, string>) =>
      apply(
        { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'ssh', namespace }, stringData },
        '--force-conflicts',
      );
    await replaceSecret(secret);
    const memory = path.join(directory, 'memory');
    await mkdir(memory);
    const controller = await startControllerProcess(t, namespace, { TMPDIR: directory, MEMORY_PATH: memory });
    return { address: { namespace, name: 'app' }, controller, directory, replaceSecret };
  }

  /** The key in the Secret, with the known hosts at another key of it. */
  const auth = (hosts?: string, more: object = {}) => ({
    sshKey: {
      secretRef: { name: 'ssh', key: 'key' },
      ...(hosts && { knownHosts: { secretRef: { name: 'ssh', key: hosts } } }),
      ...more,
    },
  });

  /** Waits until ssh runs. Returns the arguments of the controller's processes. */
  const untilAsking = (pid: number) =>
    until(() => processArguments(pid), {
      describe: 'ssh is running',
      accept: (lines) => [...lines.values()].some((line) => /^ssh /.test(line)),
    });

  const key = () => readFile(server.keyFile, 'utf8');
  const polled = { polling: { enabled: true, interval: '5s' } };

  test('is resolved with the key, if the host key is known', async (t) => {
    const repository = await server.createRepository('known');
    const first = await repository.commit({ files: { 'config/a': '1' } });
    await repository.tag('v1', { annotated: true });
    const second = await repository.commit({ files: { 'config/a': '2' } });
    // As users paste it, without the last line feed.
    const { address } = await arrange(t, { key: (await key()).trimEnd(), hosts: server.knownHosts });
    for (const [name, ref, commit] of [
      ['branch', 'main', second],
      ['tag', 'v1', first],
      ['hash', first, first],
    ] as const) {
      const git = { repo: repository.url, ref, auth: auth('hosts') };
      await applyGatewaySync({ ...address, name }, git);
      const resource = await untilCondition({ ...address, name }, 'RefResolved', 'True');
      assert.equal(resource.status?.lastSyncCommit, commit);
      assert.equal(condition(resource, 'SSHHostKeyVerification')?.status, 'True');
      assert.equal(condition(resource, 'SSHHostKeyVerification')?.reason, 'KnownHosts');
    }
  });

  test('is resolved by its host name, which is also the name in known_hosts', slow, async (t) => {
    const repository = await server.createRepository('named');
    const commit = await repository.commit({ files: { 'config/a': '1' } });
    const named = (text: string) => text.replaceAll('127.0.0.1', 'localhost');
    const { address } = await arrange(t, { key: await key(), hosts: named(server.knownHosts) });
    await applyGatewaySync(address, { repo: named(repository.url), auth: auth('hosts') });
    const resource = await untilCommit(address, commit);
    assert.equal(condition(resource, 'SSHHostKeyVerification')?.reason, 'KnownHosts');
  });

  test("isn't trusted with another host key, or none at all, until that is fixed", slow, async (t) => {
    const repository = await server.createRepository('other');
    const commit = await repository.commit({ files: { 'config/a': '1' } });
    const wrong = server.knownHosts.replace(/AAAA\S+/, (text) => `${text.slice(0, -8)}AAAAAAAA`);
    const { address, replaceSecret } = await arrange(t, { key: await key(), hosts: wrong, none: '' });
    const git = { repo: repository.url, auth: auth('hosts') };
    await applyGatewaySync(address, git, polled);
    await applyGatewaySync({ ...address, name: 'none' }, { ...git, auth: auth('none') });
    const messages = {
      app: /^(?!.*\[NAME\]).* spec\.git\.auth\.sshKey\.knownHosts/,
      none: /known_hosts .* \[NAME\]:PORT /,
    };
    for (const [name, words] of Object.entries(messages)) {
      const refused = await untilCondition({ ...address, name }, 'RefResolved', 'False');
      for (const type of ['RefResolved', 'SSHHostKeyVerification', 'Ready'] as const) {
        assert.equal(condition(refused, type)?.status, 'False', type);
        assert.equal(condition(refused, type)?.reason, 'HostKeyVerificationFailed', type);
        assert.match(condition(refused, type)?.message ?? '', words);
      }
      assert.equal(condition(refused, 'Stalled')?.status, 'True');
      assert.equal(refused.status?.lastSyncCommit, undefined);
    }
    await replaceSecret({ key: await key(), hosts: server.knownHosts, none: '' });
    const resource = await untilCondition(address, 'RefResolved', 'True');
    assert.equal(resource.status?.lastSyncCommit, commit);
    assert.equal(condition(resource, 'SSHHostKeyVerification')?.reason, 'KnownHosts');
  });

  test(
    "isn't contacted without known_hosts, until the resource allows it, which shows in a condition",
    slow,
    async (t) => {
      const repository = await server.createRepository('unchecked');
      const commit = await repository.commit({ files: { 'config/a': '1' } });
      const { address } = await arrange(t, { key: await key() });
      await applyGatewaySync(address, { repo: repository.url, auth: auth() });
      const refused = await untilCondition(address, 'Ready', 'False');
      for (const type of ['RefResolved', 'SSHHostKeyVerification', 'Ready'] as const) {
        assert.equal(condition(refused, type)?.reason, 'KnownHostsMissing', type);
        assert.match(condition(refused, type)?.message ?? '', /spec\.git\.auth\.sshKey\.insecureIgnoreHostKey/, type);
      }
      assert.equal(condition(refused, 'Stalled')?.status, 'True');
      const insecure = auth(undefined, { insecureIgnoreHostKey: true });
      await applyGatewaySync(address, { repo: repository.url, auth: insecure });
      await untilCondition(address, 'RefResolved', 'Resolved');
      const resource = await untilCondition(address, 'Ready', 'True');
      assert.equal(resource.status?.lastSyncCommit, commit);
      const warning = condition(resource, 'SSHHostKeyVerification');
      assert.deepEqual([warning?.status, warning?.reason], ['False', 'InsecureIgnoreHostKey']);
      assert.equal(condition(resource, 'Stalled')?.status, 'False');
      const output = 'jsonpath={.items[*].reason}';
      const events = () => kubectl('get', 'events.events.k8s.io', '--namespace', address.namespace, '--output', output);
      const hasBoth = (text: string) => /InsecureIgnoreHostKey/.test(text) && /KnownHostsMissing/.test(text);
      await until(events, { describe: 'one event of each', accept: hasBoth });
      const reasons = (await events()).split(' ').filter((reason) => /HostKey|KnownHosts/.test(reason));
      assert.deepEqual(reasons.sort(), ['InsecureIgnoreHostKey', 'KnownHostsMissing']);
    },
  );

  test("refuses a key that it doesn't know, or that is invalid", async (t) => {
    const repository = await server.createRepository('refused');
    await repository.commit({ files: { 'config/a': '1' } });
    const { address } = await arrange(t, { key: 'no key at all', hosts: server.knownHosts });
    await applyGatewaySync(address, { repo: repository.url, auth: auth('hosts') });
    const refused = await untilCondition(address, 'RefResolved', 'False');
    assert.equal(condition(refused, 'RefResolved')?.reason, 'AuthenticationFailed');
    assert.match(condition(refused, 'RefResolved')?.message ?? '', / spec\.git\.auth\b/);
  });

  test('gets the key from a file for the duration of a query, never from an argument', slow, async (t) => {
    const repository = await server.createRepository('gated');
    const commit = await repository.commit({ files: { 'config/a': '1' } });
    const link = await startSlowLink(t, repository.url);
    link.hold();
    const throughLink = (text: string) =>
      text.replace(`:${new URL(repository.url).port}`, `:${new URL(link.url).port}`);
    const { address, controller, directory } = await arrange(t, {
      key: await key(),
      hosts: throughLink(server.knownHosts),
    });
    const body = (await key()).split('\n')[1] ?? '';
    await applyGatewaySync(address, { repo: throughLink(repository.url), auth: auth('hosts') });
    const asking = await untilAsking(controller.pid);
    const holders = [...(await filesBelow(directory))].filter(([, { content }]) => content.includes(body));
    assert.deepEqual(
      holders.map(([file, { mode }]) => [file.split(path.sep)[0], mode]),
      [['memory', 0o600]],
    );
    for (const line of asking.values()) assert.ok(!line.includes(body), line);
    link.release();
    const { status } = await untilCommit(address, commit);
    assert.equal(status?.refResolutionStatus, 'Resolved');
    assert.deepEqual([...(await filesBelow(directory)).keys()], []);
    await controller.stop();
    assert.ok(!controller.output.includes(body));
    assert.deepEqual(await readdir(directory, { recursive: true }), ['memory']);
  });

  test('that falls silent is abandoned, and leaves nothing behind', slow, async (t) => {
    const repository = await server.createRepository('silent');
    const link = await startSlowLink(t, repository.url);
    link.hold();
    const { address, controller, directory } = await arrange(t, { key: await key(), hosts: server.knownHosts });
    const repo = `ssh://git@127.0.0.1:${new URL(link.url).port}/silent.git`;
    await applyGatewaySync(address, { repo, auth: auth('hosts') });
    const asking = await untilAsking(controller.pid);
    const resource = await untilCondition(address, 'RefResolved', 'False');
    assert.match(condition(resource, 'RefResolved')?.reason ?? '', /^Git(Unreachable|Timeout)$/);
    const started = [...asking].filter(([, line]) => /^(ssh|git) /.test(line));
    for (const [pid, line] of started) assert.ok(await isGone(pid), `${line} is left`);
    await until(() => filesBelow(directory), { describe: 'no file is left', accept: ({ size }) => size === 0 });
  });
});
