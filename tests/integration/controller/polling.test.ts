import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import { apply, createNamespace, kubectl } from '../../support/cluster.ts';
import { slow } from '../../support/depth.ts';
import { injectedPod } from '../../support/gateway-pods.ts';
import { applyGatewaySync, untilCommit, untilGatewaySync, untilStatus } from '../../support/gateway-syncs.ts';
import { serveRepository } from '../../support/git-server-for.ts';
import { startController } from '../../support/start-controller.ts';
import { until } from '../../support/until.ts';

suite('a git server that never answers', { concurrency: 4 }, () => {
  test('delays no resource of another server, however many wait for it', slow, async (t) => {
    const hanging = await serveRepository(t, { address: '0.0.0.0' });
    const healthy = await serveRepository(t);
    hanging.server.fault = { hang: true };
    const namespace = await createNamespace(t);
    const url = hanging.repository.url.replace('127.0.0.1', '127.0.0.2');
    for (let index = 0; index < 24; index += 1)
      await applyGatewaySync({ namespace, name: `waits-${index}` }, { repo: `${url}-${index}` });
    await startController(t, namespace);
    // Half of the host's places, because all are in one namespace.
    await until(() => hanging.server.requests.length >= 4, { describe: 'the host is asked' });
    const address = { namespace, name: 'other' };
    await applyGatewaySync(address, { repo: healthy.repository.url });
    const isResolved = ({ status }: GatewaySync) => status?.lastSyncCommit === healthy.commit;
    // Queries time out after 60 s, so in sequence they would take several minutes.
    await untilGatewaySync(address, 'resolved', isResolved, 60_000);
  });

  test('keeps no agent from its permissions, and no gateway from the status', slow, async (t) => {
    const { server, repository } = await serveRepository(t);
    server.fault = { hang: true };
    const address = { namespace: await createNamespace(t), name: 'app' };
    await applyGatewaySync(address, { repo: repository.url });
    await apply(injectedPod(address.namespace, 'gateway-0', address.name));
    await startController(t, address.namespace);
    await until(() => kubectl('get', 'rolebinding', 'sync-agent-app', '--namespace', address.namespace), {
      describe: 'the RoleBinding',
    });
    const { status } = await untilStatus(address, { gateways: { total: 1 } });
    assert.equal(status?.discoveredGateways?.[0]?.podName, 'gateway-0');
    assert.equal(status?.lastSyncCommit, undefined);
  });
});

suite("a resource that isn't polled", { concurrency: 4 }, () => {
  test('queries its repository again when its spec changes', async (t) => {
    const { repository, commit } = await serveRepository(t);
    const address = { namespace: await createNamespace(t), name: 'app' };
    await applyGatewaySync(address, { repo: repository.url });
    await startController(t, address.namespace);
    await untilCommit(address, commit);
    const second = await repository.commit({ files: { 'config/a': '2' } });
    const sync = { profiles: { default: { mappings: [{ source: 'config', destination: 'elsewhere' }] } } };
    await applyGatewaySync(address, { repo: repository.url }, { sync });
    await untilCommit(address, second);
  });
});
