import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import type { GitServer } from '../../../scripts/testbed/git-server.ts';
import { createNamespace, kubectl } from '../../support/cluster.ts';
import { slow } from '../../support/depth.ts';
import { applyGatewaySync, condition, untilCommit, untilCondition, untilStatus } from '../../support/gateway-syncs.ts';
import { serveRepository } from '../../support/git-server-for.ts';
import { startController, startControllerProcess } from '../../support/start-controller.ts';
import { type ForwardProxy, startProxy } from '../../support/start-proxy.ts';

interface World {
  proxy: ForwardProxy;
  server: GitServer;
  /** URL of a repository with one commit. */
  url: string;
  commit: string;
  namespace: string;
}

async function arrange(t: TestContext, { tls = false } = {}): Promise<World> {
  const proxy = await startProxy(t);
  const { server, repository, commit } = await serveRepository(t, { tls });
  return { proxy, server, url: repository.url, commit, namespace: await createNamespace(t) };
}

/** Creates the resource `app`, and waits for the commit of the repository. */
async function expectResolved({ namespace, commit, url }: World, repo = url): Promise<void> {
  await applyGatewaySync({ namespace, name: 'app' }, { repo });
  await untilCommit({ namespace, name: 'app' }, commit);
}

suite('behind a proxy, the controller', { concurrency: 4 }, () => {
  test('reaches a repository through it, even one whose name only the proxy knows', async (t) => {
    const world = await arrange(t);
    const { proxy, namespace } = world;
    await startController(t, namespace, { HTTP_PROXY: `http://127.0.0.1:${proxy.port}` });
    const repo = world.url.replace('127.0.0.1', 'git.invalid');
    await expectResolved(world, repo);
    assert.deepEqual(proxy.requests, [`GET ${repo}/info/refs?service=git-upload-pack`, `POST ${repo}/git-upload-pack`]);
  });

  test('reaches a repository over TLS through it, whichever CA signed its certificate', slow, async (t) => {
    const world = await arrange(t, { tls: true });
    const { proxy, server, namespace } = world;
    await startControllerProcess(t, namespace, {
      https_proxy: `http://127.0.0.1:${proxy.port}`,
      NODE_EXTRA_CA_CERTS: server.caFile ?? '',
    });
    await kubectl('create', 'secret', 'generic', 'git', '--namespace', namespace, `--from-file=ca=${server.caFile}`);
    await expectResolved(world);
    const tunnel = `CONNECT ${new URL(world.url).host}`;
    assert.deepEqual([...new Set(proxy.requests)], [tunnel], 'and nothing else, such as the API server');
    proxy.requests.length = 0;
    const git = { repo: world.url, caSecretRef: { name: 'git', key: 'ca' } };
    await applyGatewaySync({ namespace, name: 'app' }, git);
    await untilStatus({ namespace, name: 'app' }, { observedGeneration: 2 });
    assert.deepEqual([...new Set(proxy.requests)], [tunnel]);
  });

  test('reaches a repository that is listed as an exception directly', slow, async (t) => {
    const world = await arrange(t);
    const { proxy, namespace } = world;
    await startController(t, namespace, {
      HTTP_PROXY: `http://127.0.0.1:${proxy.port}`,
      NO_PROXY: 'example.com,127.0.0.1',
    });
    await expectResolved(world);
    assert.deepEqual(proxy.requests, []);
  });

  test('reaches a repository through a proxy on this machine, even if local repositories are denied', async (t) => {
    const world = await arrange(t);
    const { proxy, namespace } = world;
    const environment = { HTTP_PROXY: `http://localhost:${proxy.port}`, GIT_ALLOW_LOCAL: 'false' };
    await startController(t, namespace, environment);
    const repo = world.url.replace('127.0.0.1', 'git.invalid');
    await expectResolved(world, repo);
    await applyGatewaySync({ namespace, name: 'local' }, { repo: world.url });
    const refused = await untilCondition({ namespace, name: 'local' }, 'RefResolved', 'False');
    assert.equal(condition(refused, 'RefResolved')?.reason, 'AddressDenied');
    assert.deepEqual(
      proxy.requests.filter((line) => line.includes('127.0.0.1')),
      [],
    );
  });
});
