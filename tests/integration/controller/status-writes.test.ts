import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { writeStatus } from '../../../controller/reconcile/status/write-status.ts';
import { projectGatewaySync } from '../../../controller/watch/observed-gateway-sync.ts';
import { clientOf } from '../../../scripts/testbed/client-of.ts';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import { ROLLOUT_ANNOTATIONS } from '../../../shared/api/names.ts';
import { type ApiRequest, KubernetesClient } from '../../../shared/io/kubernetes/client.ts';
import { gatewaySyncPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { connectCluster, createNamespace } from '../../support/cluster.ts';
import {
  type Address,
  applyGatewaySync,
  patchResource,
  patchStatus,
  request,
  untilCommit,
  untilGatewaySync,
} from '../../support/gateway-syncs.ts';
import { serveRepository } from '../../support/git-server-for.ts';
import { startController } from '../../support/start-controller.ts';

async function arrange(t: TestContext) {
  const { repository, commit } = await serveRepository(t);
  await repository.tag('v1.0.0');
  const address = { namespace: await createNamespace(t), name: 'app' };
  await startController(t, address.namespace);
  // The status contains characters that the API server escapes.
  await applyGatewaySync(address, { repo: repository.url, semver: '>=1.0.0 <2.0.0' });
  await untilCommit(address, commit);
  return address;
}

/**
 * Annotates the resource a hundred times per second until it is stopped, or less often if the machine is busy, so that
 * others have their turn; `stored` counts the stored versions.
 */
function annotateConstantly(t: TestContext, address: Address) {
  const traffic = { stored: 0, isOver: false };
  const run = async () => {
    for (let n = 0; !traffic.isOver; n += 1) {
      const started = performance.now();
      await patchResource(address, { metadata: { annotations: { 'example.com/delivery': `${n}` } } });
      traffic.stored += 1;
      const tookMs = performance.now() - started;
      await sleep(Math.max(10 - tookMs, 2 * tookMs));
    }
  };
  const ended = run();
  t.after(async () => {
    traffic.isOver = true;
    await ended;
  });
  return traffic;
}

/** Changes the resource right before each of these writes of its status, as often clients do over a slow network. */
function overtakeWrites(t: TestContext, { namespace, name }: Address, change: (write: number) => Promise<void>) {
  const path = `${gatewaySyncPath(namespace, name)}/status`;
  const { request: send } = KubernetesClient.prototype;
  const writes: ApiRequest[] = [];
  t.mock.method(KubernetesClient.prototype, 'request', async function (this: KubernetesClient, sent: ApiRequest) {
    if (sent.path === path) await change(writes.push(sent));
    return await send.call(this, sent);
  });
}

const untilObserved = (address: Address, paused: boolean) =>
  untilGatewaySync(
    address,
    `paused: ${paused}`,
    ({ metadata, status, spec }) => spec.paused === paused && status?.observedGeneration === metadata.generation,
    20_000,
  );

suite('the status of a resource', () => {
  test('is right within a second while the resource is patched a hundred times per second', async (t) => {
    const address = await arrange(t);
    const traffic = annotateConstantly(t, address);
    for (const paused of [true, false, true]) {
      await patchResource(address, { spec: { paused } });
      const before = traffic.stored;
      await untilObserved(address, paused);
      // Counted in patches, because a busy machine slows both down.
      const patches = traffic.stored - before;
      t.diagnostic(`right after ${patches} patches`);
      assert.ok(patches <= 100, `only right after ${patches} patches`);
    }
  });

  test('is written even if a delivery or another client changes the resource before every write', async (t) => {
    const address = await arrange(t);
    overtakeWrites(t, address, async (write) => {
      await patchResource(address, { metadata: { annotations: { 'example.com/delivery': `${write}` } } });
      await request(address, 'v1.0.0', { id: `${write}` });
    });
    await patchResource(address, { spec: { paused: true } });
    await untilObserved(address, true);
  });
});

suite('a status that is decided again', { concurrency: 1 }, () => {
  const annotate = (name: string) => (address: Address) =>
    patchResource(address, { metadata: { annotations: { [name]: 'x' } } });
  for (const [change, { apply, outcome }] of Object.entries({
    'an annotation of another client': { apply: annotate('example.com/delivery'), outcome: 'written' },
    'a request': { apply: (address: Address) => request(address, 'v1'), outcome: 'written' },
    'an edit': { apply: (address: Address) => patchResource(address, { spec: { paused: true } }), outcome: 'conflict' },
    'a rollback': { apply: annotate(ROLLOUT_ANNOTATIONS.rollback), outcome: 'conflict' },
    'a retry': { apply: annotate(ROLLOUT_ANNOTATIONS.retry), outcome: 'conflict' },
    'a status of another leader': {
      apply: (address: Address) => patchStatus(address, { profileCount: 2 }),
      outcome: 'conflict',
    },
  }))
    test(`is ${outcome === 'written' ? '' : 'not '}written after ${change}`, async (t) => {
      const { kubeconfig } = await connectCluster();
      const client = clientOf(kubeconfig, { userAgent: 'test' });
      t.after(() => client.close());
      const address = { namespace: await createNamespace(t), name: 'app' };
      await applyGatewaySync(address, { repo: 'https://git.example.com/a' }, { rollout: {} });
      // With the characters that the API server escapes.
      await patchStatus(address, { observedSemver: '>=1 <2 & \u2028' });
      await annotate('example.com/team')(address);
      const path = gatewaySyncPath(address.namespace, address.name);
      const gatewaySync = projectGatewaySync(await client.getAs<GatewaySync>(path), undefined, 0);
      await apply(address);
      const status = { ...gatewaySync.status, profileCount: 1 };
      const write = await writeStatus(client, gatewaySync, { status, attempt: 2 });
      assert.equal(write.kind, outcome);
      const { profileCount } = (await client.getAs<GatewaySync>(path)).status ?? {};
      assert.equal(profileCount === 1, outcome === 'written');
    });

  test('is written for its version if the tests of a patch cannot succeed', async (t) => {
    const { kubeconfig } = await connectCluster();
    const client = clientOf(kubeconfig, { userAgent: 'test' });
    t.after(() => client.close());
    const address = { namespace: await createNamespace(t), name: 'app' };
    // Without annotations and a status.
    await applyGatewaySync(address, { repo: 'https://git.example.com/a' }, { rollout: {} });
    const path = gatewaySyncPath(address.namespace, address.name);
    const gatewaySync = projectGatewaySync(await client.getAs<GatewaySync>(path), undefined, 0);
    const kinds: string[] = [];
    for (const attempt of [2, 3]) {
      const { kind } = await writeStatus(client, gatewaySync, { status: { profileCount: 1 }, attempt });
      kinds.push(kind);
    }
    assert.deepEqual(kinds, ['conflict', 'written']);
  });
});
