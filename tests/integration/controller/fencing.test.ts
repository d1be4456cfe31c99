import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { KubeConfig } from '@kubernetes/client-node';
import { FencedClient } from '../../../controller/leadership/fenced-client.ts';
import { ApiCredentials } from '../../../shared/io/kubernetes/credentials.ts';
import { corePath } from '../../../shared/io/kubernetes/resource-path.ts';
import { connectCluster, createNamespace } from '../../support/cluster.ts';
import { slow } from '../../support/depth.ts';
import { startSlowLink } from '../../support/slow-link.ts';
import { until } from '../../support/until.ts';

interface ConfigMaps {
  items: { metadata: { name: string; creationTimestamp: string } }[];
}

/** A client of a leader whose lease leaves this time for a write (ms), directly or over a link that can be blocked. */
async function arrange(t: TestContext, writeWithinMs: () => number, { isDirect = false } = {}) {
  const { url, kubeconfig } = await connectCluster();
  const link = await startSlowLink(t, url);
  const config = new KubeConfig();
  config.loadFromFile(kubeconfig);
  if (!isDirect) Object.assign(config.getCurrentCluster() ?? {}, { server: link.url });
  const client = new FencedClient(new ApiCredentials(config), { userAgent: 'test', writeWithinMs });
  t.after(() => client.close());
  const namespace = await createNamespace(t);
  const path = corePath('configmaps', namespace);
  const write = (name: string) => client.create(path, { metadata: { name, namespace } }, { timeoutMs: 20_000 });
  const list = async () => (await client.getAs<ConfigMaps>(path)).items.map(({ metadata }) => metadata);
  const names = async () => (await list()).map(({ name }) => name);
  return { link, client, write, list, names };
}

/** Blocks as a stopped process does, while the kernel continues. */
function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

suite('a write of the leader', () => {
  // The write's own timeout is later.
  test('is abandoned before its lease expires', { timeout: 15_000 }, async (t) => {
    const { link, client, write } = await arrange(t, () => 300);
    await client.getAs('/version');
    link.hold();
    await assert.rejects(write('late'), { code: 'ETIMEDOUT' });
  });

  test("isn't sent without a lease, while reads continue", async (t) => {
    const { client, write, names } = await arrange(t, () => 0);
    await assert.rejects(write('fenced'), { code: 'leadership.fenced' });
    await client.getAs('/version');
    assert.ok(!(await names()).includes('fenced'));
  });

  test('ends before the lease is released, and none begins after that', async (t) => {
    const { link, client, write, names } = await arrange(t, () => 10_000);
    await client.getAs('/version');
    link.hold();
    const inProgress = write('under-way');
    const sealed = client.seal();
    await assert.rejects(write('after'), { code: 'leadership.fenced' });
    link.release();
    await sealed;
    await inProgress;
    assert.ok((await names()).includes('under-way'));
  });

  test("isn't sent if its connection is ready after the lease has expired", async (t) => {
    let withinMs = 10_000;
    const { link, write, names } = await arrange(t, () => withinMs);
    link.hold();
    const waiting = assert.rejects(write('late'), { code: 'leadership.fenced' });
    await until(() => link.size > 0, { describe: 'a connection that waits for the TLS handshake' });
    withinMs = 0;
    link.release();
    await waiting;
    assert.ok(!(await names()).includes('late'));
  });

  test("isn't sent by a process that wakes up after its lease, if it waited for a free connection", slow, async (t) => {
    const leaseMs = 1_000;
    let renewedAt = performance.now();
    const leftMs = () => Math.max(0, Math.floor(renewedAt + leaseMs - performance.now()));
    const { client, write, list } = await arrange(t, leftMs, { isDirect: true });
    await Promise.all(Array.from({ length: 16 }, () => client.getAs('/version')));
    renewedAt = performance.now();
    const writes = Promise.allSettled(Array.from({ length: 150 }, (_, index) => write(`write-${index}`)));
    await sleep(1); // the first of them are in progress
    standStill(8_000); // even a busy API server handles what it has received
    const wokeAt = Math.floor(Date.now() / 1_000) * 1_000;
    await writes;
    await sleep(1_000); // sent writes arrive
    // Times of the API server are whole seconds, rounded down.
    const late = (await list()).filter(({ creationTimestamp }) => Date.parse(creationTimestamp) >= wokeAt);
    assert.deepEqual(late, []);
  });
});
