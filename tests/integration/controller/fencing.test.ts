import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { KubeConfig } from '@kubernetes/client-node';
import { FencedClient } from '../../../controller/leadership/fenced-client.ts';
import { ApiCredentials } from '../../../shared/io/kubernetes/credentials.ts';
import { corePath } from '../../../shared/io/kubernetes/resource-path.ts';
import { connectCluster, createNamespace, kubectl } from '../../support/cluster.ts';
import { startSlowLink } from '../receiver/slow-link.ts';

/** A client of a leader whose lease leaves so many milliseconds for a write, over a link that can be held up. */
async function arrange(t: TestContext, writeWithinMs: number) {
  const { url, kubeconfig } = await connectCluster();
  const link = await startSlowLink(t, url);
  const config = new KubeConfig();
  config.loadFromFile(kubeconfig);
  Object.assign(config.getCurrentCluster() ?? {}, { server: link.url });
  const client = new FencedClient(new ApiCredentials(config), {
    userAgent: 'test',
    writeWithinMs: () => writeWithinMs,
  });
  t.after(() => client.close());
  const namespace = await createNamespace(t);
  const write = (name: string) =>
    client.create(corePath('configmaps', namespace), { metadata: { name, namespace } }, { timeoutMs: 20_000 });
  const names = async () =>
    (await kubectl('get', 'configmaps', '--namespace', namespace, '--output', 'name')).split('\n');
  return { link, client, write, names };
}

suite('a write of the leader', () => {
  test('is given up before its lease ends', async (t) => {
    const { link, client, write } = await arrange(t, 300);
    await client.get('/version');
    link.hold();
    await assert.rejects(write('late'), { code: 'ETIMEDOUT' });
  });

  test('is not sent without a lease, while reading goes on', async (t) => {
    const { client, write, names } = await arrange(t, 0);
    await assert.rejects(write('fenced'), { code: 'leadership.fenced' });
    await client.get('/version');
    assert.ok(!(await names()).includes('configmap/fenced'));
  });

  test('ends before the lease is handed over, and none begins after that', async (t) => {
    const { link, client, write, names } = await arrange(t, 10_000);
    await client.get('/version');
    link.hold();
    const underWay = write('under-way');
    const sealed = client.seal();
    await assert.rejects(write('after'), { code: 'leadership.fenced' });
    link.release();
    await sealed;
    await underWay;
    assert.ok((await names()).includes('configmap/under-way'));
  });
});
