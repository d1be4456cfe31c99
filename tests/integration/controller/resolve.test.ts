import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { networkInterfaces } from 'node:os';
import { suite, test } from 'node:test';
import type { GitServer } from '../../../scripts/testbed/git-server.ts';
import { apply, createNamespace, kubectl } from '../../support/cluster.ts';
import { slow } from '../../support/depth.ts';
import { applyGatewaySync, condition, untilCommit, untilCondition } from '../../support/gateway-syncs.ts';
import { gitDaemonFor, serveRepository } from '../../support/git-server-for.ts';
import { startHttpHost } from '../../support/http-host.ts';
import { shareController, startController } from '../../support/start-controller.ts';
import { until } from '../../support/until.ts';

const resolved = (name: string, namespace: string) => untilCondition({ namespace, name }, 'RefResolved', 'True');

const refused = (name: string, namespace: string) => untilCondition({ namespace, name }, 'RefResolved', 'False');

const newAddress = shareController();

/** Creates the Secret `git` with a token and the CA of a server. */
const createSecret = (namespace: string, token: string, { caFile }: GitServer) =>
  kubectl(
    ...['create', 'secret', 'generic', 'git', '--namespace', namespace],
    ...[`--from-literal=token=${token}`, `--from-file=ca=${caFile}`],
  );

/** Access of a resource with that Secret. */
const access = {
  auth: { token: { secretRef: { name: 'git', key: 'token' } } },
  caSecretRef: { name: 'git', key: 'ca' },
};

suite('the ref of a resource', { concurrency: 4 }, () => {
  test('is resolved over HTTP, whatever kind it is', async (t) => {
    const { server, repository, commit: first } = await serveRepository(t);
    await repository.tag('plain');
    await repository.tag('v1.0.0', { annotated: true });
    await repository.branch('both', first);
    const second = await repository.commit({ files: { 'config/a': '2' } });
    await repository.tag('both');
    const { namespace } = newAddress();
    const cases: [name: string, ref: string, commit: string][] = [
      ['branch', 'main', second],
      ['full-branch', 'refs/heads/main', second],
      ['tag', 'plain', first],
      ['annotated-tag', 'v1.0.0', first],
      ['annotated-without-v', '1.0.0', first],
      ['full-tag', 'refs/tags/v1.0.0', first],
      ['hash', first, first],
      ['tag-and-branch', 'both', second],
    ];
    for (const [name, ref] of cases) await applyGatewaySync({ namespace, name }, { repo: repository.url, ref });
    for (const [name, ref, commit] of cases) {
      const { status } = await resolved(name, namespace);
      assert.equal(status?.lastSyncCommit, commit, ref);
      assert.deepEqual(status?.target, { ref, source: 'Spec' });
      assert.equal(status?.observedRef, ref);
      assert.equal(status?.refResolutionStatus, 'Resolved');
    }
    assert.equal(server.requests.filter(({ command }) => command === 'fetch').length, 0, 'a hash costs no fetch');
    const both = await resolved('tag-and-branch', namespace);
    assert.equal(condition(both, 'RefResolved')?.reason, 'AmbiguousRef');
    assert.equal(condition(both, 'Ready')?.reason, 'NoGateways');
    const unfiltered = server.requests.filter(({ command, protocol }) => command === 'ls-refs' && protocol !== 2);
    assert.deepEqual(unfiltered, []);
  });

  test('needs no git server if it is a full hash', async () => {
    const address = newAddress();
    const hash = 'a'.repeat(40);
    await applyGatewaySync(address, { repo: 'http://127.0.0.1:1/nothing', ref: hash });
    const gatewaySync = await resolved(address.name, address.namespace);
    assert.equal(gatewaySync.status?.lastSyncCommit, hash);
    assert.equal(condition(gatewaySync, 'RefResolved')?.reason, 'PinnedCommit');
    assert.equal(condition(gatewaySync, 'Ready')?.reason, 'NoGateways');
  });

  test('is resolved over git://', slow, async (t) => {
    const daemon = await gitDaemonFor(t);
    const repository = await daemon.createRepository('plain');
    const commit = await repository.commit({ files: { 'config/a': '1' } });
    await repository.tag('v1', { annotated: true });
    await repository.tag('v1.4.0', { annotated: true });
    for (const git of [{ ref: 'main' }, { ref: 'v1' }, { ref: commit }, { semver: '~1.4' }]) {
      const address = newAddress();
      await applyGatewaySync(address, { repo: repository.url, ...git });
      const { status } = await resolved(address.name, address.namespace);
      assert.equal(status?.lastSyncCommit, commit, JSON.stringify(git));
    }
  });

  test('is resolved with a token and a private CA, and the token shows nowhere', slow, async (t) => {
    const { server, repository, commit } = await serveRepository(t, {
      tls: true,
      credentials: { username: 'x-access-token', password: 'hunter2secret' },
    });
    const namespace = await createNamespace(t);
    const controller = await startController(t, namespace);
    await createSecret(namespace, 'hunter2secret', server);
    const git = { repo: repository.url, ...access };
    await applyGatewaySync({ namespace, name: 'private' }, git);
    const gatewaySync = await resolved('private', namespace);
    assert.equal(gatewaySync.status?.lastSyncCommit, commit);
    await controller.stop();
    const events = await kubectl('get', 'events.v1.events.k8s.io', '--namespace', namespace, '--output', 'json');
    const encoded = Buffer.from('x-access-token:hunter2secret').toString('base64');
    for (const text of [controller.output, events, JSON.stringify(gatewaySync)]) {
      assert.ok(!text.includes('hunter2secret') && !text.includes(encoded));
    }
  });
});

suite('a condition names the remedy for', { concurrency: 4 }, () => {
  type Git = (server: GitServer, repository: string) => { repo: string; ref?: string };
  const cases: [name: string, git: Git, reason: string, words: RegExp][] = [
    ['a missing ref', (_, repo) => ({ repo, ref: 'nowhere' }), 'RefNotFound', /push it, or change spec\.git\.ref/],
    ['a missing repository', ({ url }) => ({ repo: `${url}/no.git` }), 'RepositoryNotFound', /check spec\.git\.repo/],
    ['a URL without a server', () => ({ repo: 'http://127.0.0.1:1/x' }), 'GitUnreachable', /refused the connection/],
  ];
  for (const [name, git, reason, words] of cases) {
    test(name, async (t) => {
      const { server, repository } = await serveRepository(t);
      const address = newAddress();
      await applyGatewaySync(address, git(server, repository.url));
      const gatewaySync = await refused(address.name, address.namespace);
      for (const type of ['RefResolved', 'Ready'] as const) {
        assert.equal(condition(gatewaySync, type)?.status, 'False');
        assert.equal(condition(gatewaySync, type)?.reason, reason);
        assert.match(condition(gatewaySync, type)?.message ?? '', words);
      }
      assert.equal(gatewaySync.status?.refResolutionStatus, 'Error');
      assert.equal(gatewaySync.status?.lastSyncCommit, undefined);
    });
  }

  test('a missing Secret, and is removed once the Secret exists', slow, async (t) => {
    const { server, repository, commit } = await serveRepository(t, {
      tls: true,
      credentials: { username: 'x-access-token', password: 'right' },
    });
    const address = newAddress();
    const { namespace } = address;
    const git = { repo: repository.url, ...access };
    await applyGatewaySync(address, git, { polling: { enabled: true, interval: '5s' } });
    const missing = await refused(address.name, address.namespace);
    assert.equal(condition(missing, 'RefResolved')?.reason, 'SecretNotFound');
    assert.match(condition(missing, 'RefResolved')?.message ?? '', /Secret .*\/git doesn't exist; create it/);
    assert.equal(condition(missing, 'Stalled')?.status, 'True');
    await createSecret(namespace, 'wrong', server);
    const wrong = await untilCondition(address, 'RefResolved', 'AuthenticationFailed');
    assert.match(condition(wrong, 'RefResolved')?.message ?? '', /check .*the Secret specified in spec\.git\.auth/);
    await apply(
      { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'git', namespace }, stringData: { token: 'right' } },
      '--force-conflicts',
    );
    const { status } = await untilCondition(address, 'RefResolved', 'True');
    assert.equal(status?.lastSyncCommit, commit);
  });

  test('a loopback repository, unless that is allowed', async (t) => {
    const { server, repository } = await serveRepository(t);
    const namespace = await createNamespace(t);
    await startController(t, namespace, { GIT_ALLOW_LOCAL: 'false' });
    await applyGatewaySync({ namespace, name: 'x' }, { repo: repository.url });
    const gatewaySync = await refused('x', namespace);
    assert.equal(condition(gatewaySync, 'RefResolved')?.reason, 'AddressDenied');
    assert.deepEqual(server.requests, []);
  });
});

/** An address of this machine that is neither loopback nor link-local. */
const ownAddress = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ internal, family, address }) => !internal && family === 'IPv4' && !address.startsWith('169.254.'))?.address;

test("a redirect to another host, such as a loopback address, isn't followed", {
  skip: !ownAddress && 'this machine has no address but the loopback one',
}, async (t) => {
  const { server } = await serveRepository(t);
  const redirect: RequestListener = (request, response) =>
    response.writeHead(302, { Location: `${server.url}${request.url}` }).end();
  const repo = `${await startHttpHost(t, redirect, ownAddress)}/app.git`;
  const namespace = await createNamespace(t);
  await startController(t, namespace, { GIT_ALLOW_LOCAL: 'false' });
  await applyGatewaySync({ namespace, name: 'x' }, { repo });
  const gatewaySync = await refused('x', namespace);
  assert.equal(condition(gatewaySync, 'RefResolved')?.reason, 'UnexpectedRedirect');
  assert.deepEqual(server.requests, []);
});

suite('polling of a repository', { concurrency: 4 }, () => {
  test('finds a push without a webhook, and writes nothing when there is none', slow, async (t) => {
    const { server, repository } = await serveRepository(t);
    const address = newAddress();
    await applyGatewaySync(address, { repo: repository.url }, { polling: { enabled: true, interval: '5s' } });
    const before = await resolved(address.name, address.namespace);
    const asked = server.requests.length;
    await until(() => server.requests.length >= asked + 2, { describe: 'two more polls' });
    const quiet = await resolved(address.name, address.namespace);
    assert.equal(quiet.metadata.resourceVersion, before.metadata.resourceVersion);
    const commit = await repository.commit({ files: { 'config/a': '2' } });
    await untilCommit(address, commit);
  });
});
