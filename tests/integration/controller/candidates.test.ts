import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { candidateSource } from '../../../controller/injection/candidates.ts';
import { clientOf } from '../../../scripts/testbed/client-of.ts';
import { connectCluster, createNamespace } from '../../support/cluster.ts';
import { slow } from '../../support/depth.ts';
import { applyGatewaySync } from '../../support/gateway-syncs.ts';
import { startTcpServer } from '../../support/tcp-server.ts';
import { until } from '../../support/until.ts';

/** Counts the queries of admission before the caches are filled, with the API server or a replacement. */
async function arrange(t: TestContext, server?: string) {
  const calls: string[] = [];
  const options = { userAgent: 'test', onCall: (verb: string, code: number) => calls.push(`${verb} ${code}`) };
  const client = clientOf((await connectCluster()).kubeconfig, options, server);
  t.after(() => client.close());
  const source = candidateSource({ hasSynced: false, gatewaySyncs: () => [] }, client, []);
  return { calls, live: (namespace: string, named?: string) => source.live(namespace, named) };
}

suite('before the webhook denies a pod', () => {
  test('it reads the one resource that the pod can mean, and only the names of the others', async (t) => {
    const namespace = await createNamespace(t);
    const { live, calls } = await arrange(t);
    const profiles = { blue: { mappings: [{ source: 'a', destination: 'a' }] } };
    const seen = async (named?: string) => {
      // It gives up after three seconds, in which a busy API server may not respond.
      const answer = () => {
        calls.length = 0;
        return live(namespace, named);
      };
      const { candidates, others = [] } = await until(answer, { describe: 'an answer' });
      return [
        candidates.map(({ name, spec }) => [name, ...Object.keys(spec.sync.profiles)].join()),
        others,
        calls.length,
      ];
    };
    assert.deepEqual(await seen(), [[], [], 1]);
    await applyGatewaySync({ namespace, name: 'one' }, { repo: 'https://git.test/a.git' }, { sync: { profiles } });
    assert.deepEqual(await seen(), [['one,blue'], [], 2]);
    await applyGatewaySync({ namespace, name: 'two' }, { repo: 'https://git.test/a.git' });
    assert.deepEqual(await seen(), [[], ['one', 'two'], 1]);
    assert.deepEqual(await seen('two'), [['two,default'], [], 1]);
    assert.deepEqual(await seen('three'), [[], ['one', 'two'], 2]);
    for (const odd of ['', '..', '../gatewaysyncs', 'one/status', 'One', 'x'.repeat(300)])
      assert.deepEqual(await seen(odd), [[], ['one', 'two'], 1], odd);
  });

  test('it gives a silent API server three seconds in all', slow, async (t) => {
    const port = await startTcpServer(t, () => {});
    const { live } = await arrange(t, `http://127.0.0.1:${port}`);
    const started = performance.now();
    await assert.rejects(live('any', 'app'));
    const tookMs = performance.now() - started;
    assert.ok(tookMs > 2_900 && tookMs < 20_000, `${tookMs} ms`);
  });
});
