import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { connect } from 'node:tls';
import { KubeConfig } from '@kubernetes/client-node';
import { ensureSelfSigned } from '../../../controller/certificates/self-signed.ts';
import { KubernetesClient } from '../../../shared/io/kubernetes/client.ts';
import { ApiCredentials } from '../../../shared/io/kubernetes/credentials.ts';
import { corePath, groupPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { apply, callApi, connectCluster, createNamespace, kubectl, managersOf } from '../../support/cluster.ts';
import { slow } from '../../support/depth.ts';
import { gatewayPod } from '../../support/gateway-pods.ts';
import { applyGatewaySync } from '../../support/gateway-syncs.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';
import { installWebhook } from '../../support/webhook-configuration.ts';
import { createPod, sidecarOf, startInjection } from './injection-world.ts';

const ADMISSION = 'admissionregistration.k8s.io/v1';
const DAY = 86_400_000;
const HOUR = 3_600_000;

async function readSecret(namespace: string): Promise<Record<string, string>> {
  const name = `${namespace}-certificate`;
  const { data } = await callApi<{ data: Record<string, string> }>({ path: corePath('secrets', namespace, name) });
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]));
}

async function readBundle(name: string): Promise<string> {
  const at = groupPath(ADMISSION, 'mutatingwebhookconfigurations', undefined, name);
  const { webhooks } = await callApi<{ webhooks: { clientConfig: { caBundle?: string } }[] }>({ path: at });
  return Buffer.from(webhooks[0]?.clientConfig.caBundle ?? '', 'base64').toString();
}

/** Several replicas that maintain the certificate of one webhook, with separate files and a common clock. */
async function startReplicas(t: TestContext, count: number) {
  const namespace = await createNamespace(t);
  await installWebhook(t, { name: namespace, namespace, port: 1 });
  const config = new KubeConfig();
  config.loadFromFile((await connectCluster()).kubeconfig);
  const clock = { now: Date.now() };
  const replicas = await Promise.all(
    Array.from({ length: count }, async () => {
      const directory = await temporaryDirectory(t, 'replica-');
      const client = new KubernetesClient(new ApiCredentials(config), { userAgent: 'test' });
      t.after(() => client.close());
      return {
        look: () => ensureSelfSigned({ client, namespace, webhook: namespace, directory, now: () => clock.now }),
        serving: () => readFile(path.join(directory, 'tls.crt'), 'utf8'),
      };
    }),
  );
  return { namespace, clock, replicas };
}

/** Whether an API server with this bundle accepts this certificate. */
function isTrusted(serving: string, bundle: string): boolean {
  const authorities = bundle.match(/-----BEGIN[^-]+-----[^-]+-----END[^-]+-----/g) ?? [];
  return authorities.some((pem) => new X509Certificate(serving).verify(new X509Certificate(pem).publicKey));
}

suite('self-signed certificates', { concurrency: 4 }, () => {
  test('are the same for five replicas that start at once', async (t) => {
    const { namespace, replicas } = await startReplicas(t, 5);
    await Promise.all(replicas.map(({ look }) => look()));
    const secret = await readSecret(namespace);
    for (const { serving } of replicas) assert.equal(await serving(), secret['tls.crt']);
    assert.equal(await readBundle(namespace), secret['ca.crt']);
    assert.deepEqual(await managersOf(corePath('secrets', namespace, `${namespace}-certificate`)), ['sync-controller']);
    const managers = await managersOf(groupPath(ADMISSION, 'mutatingwebhookconfigurations', undefined, namespace));
    assert.ok(managers.includes('sync-controller') && !managers.includes('test'), String(managers));
  });

  test('are renewed in time, by one of the replicas, without changes to published CAs', async (t) => {
    const { namespace, replicas, clock } = await startReplicas(t, 3);
    await Promise.all(replicas.map(({ look }) => look()));
    const before = await readSecret(namespace);
    clock.now += 61 * DAY;
    await Promise.all(replicas.map(({ look }) => look()));
    const after = await readSecret(namespace);
    assert.notEqual(after['tls.crt'], before['tls.crt']);
    for (const { serving } of replicas) assert.equal(await serving(), after['tls.crt']);
    assert.equal(await readBundle(namespace), before['ca.crt']);
  });

  test('switch to the next CA with both published, whichever replica checks first', slow, async (t) => {
    const { namespace, replicas, clock } = await startReplicas(t, 2);
    await Promise.all(replicas.map(({ look }) => look()));
    const first = await readSecret(namespace);
    clock.now += 250 * DAY;
    for (const wait of [0, HOUR / 2, HOUR, HOUR, HOUR]) {
      clock.now += wait;
      const published = await readBundle(namespace);
      for (const { look, serving } of replicas) {
        await look();
        assert.ok(isTrusted(await serving(), published), 'served before its CA was published');
        const bundle = await readBundle(namespace);
        for (const other of replicas) assert.ok(isTrusted(await other.serving(), bundle), 'its CA was withdrawn');
      }
    }
    const last = await readSecret(namespace);
    assert.notEqual(last['ca.crt'], first['ca.crt']);
    assert.equal(await readBundle(namespace), last['ca.crt']);
  });

  test('are recreated when the Secret is deleted, without an outage of the other replica', slow, async (t) => {
    const { namespace, replicas } = await startReplicas(t, 2);
    await Promise.all(replicas.map(({ look }) => look()));
    await kubectl('delete', 'secret', `${namespace}-certificate`, '--namespace', namespace);
    await replicas[0]?.look();
    const bundle = await readBundle(namespace);
    for (const { serving } of replicas) assert.ok(isTrusted(await serving(), bundle));
    await replicas[1]?.look();
    assert.equal(await replicas[1]?.serving(), (await readSecret(namespace))['tls.crt']);
  });

  test('replace a Secret that is invalid, or that a chart left empty', slow, async (t) => {
    const { namespace, replicas } = await startReplicas(t, 1);
    for (const stringData of [{}, { 'ca.crt': 'x', 'ca.key': 'x', 'tls.crt': '-----BEGIN x', 'tls.key': 'x' }]) {
      const metadata = { name: `${namespace}-certificate`, namespace, labels: { keep: 'me' } };
      await apply({ apiVersion: 'v1', kind: 'Secret', metadata, stringData }, '--force-conflicts');
      await replicas[0]?.look();
      assert.ok(isTrusted((await replicas[0]?.serving()) ?? '', await readBundle(namespace)));
    }
    const label = ['--output', 'jsonpath={.metadata.labels.keep}'];
    assert.equal(await kubectl('get', 'secret', `${namespace}-certificate`, '--namespace', namespace, ...label), 'me');
  });
});

suite('a running controller', { concurrency: 4 }, () => {
  test(
    'injects again soon after Secret and caBundle are gone, and never fails a handshake in between',
    slow,
    async (t) => {
      const { namespace, port, readGauge } = await startInjection(t, { times: { admission: { checkMs: 200 } } });
      await applyGatewaySync({ namespace, name: 'app' }, { repo: 'http://127.0.0.1:1/app.git' });
      sidecarOf(await createPod(gatewayPod(namespace, 'before')));
      const expiry = await readGauge('sync_controller_admission_certificate_expiry_timestamp_seconds');
      assert.ok(expiry > Date.now() / 1000 + 80 * 86_400);
      await kubectl('delete', 'secret', `${namespace}-certificate`, '--namespace', namespace);
      const removal = [{ op: 'remove', path: '/webhooks/0/clientConfig/caBundle' }];
      const json = ['--type=json', '--patch', JSON.stringify(removal)];
      await kubectl('patch', 'mutatingwebhookconfiguration', namespace, ...json);
      // Until the API server has seen the removal, it uses the previous CA.
      await until(() => readBundle(namespace), { describe: 'a CA that is published again' });
      const pod = await until(() => createPod(gatewayPod(namespace, 'after')), { describe: 'a pod' });
      sidecarOf(pod);
      const served = await new Promise<string>((resolve, reject) => {
        const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
          resolve(socket.getPeerX509Certificate()?.toString() ?? '');
          socket.end();
        });
        socket.once('error', reject);
      });
      assert.ok(isTrusted(served, await readBundle(namespace)));
    },
  );
});
