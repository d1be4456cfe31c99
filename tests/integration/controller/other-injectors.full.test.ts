import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import { text } from 'node:stream/consumers';
import { suite, type TestContext, test } from 'node:test';
import { createCertificates } from '../../../scripts/testbed/certificates.ts';
import { corePath } from '../../../shared/io/kubernetes/resource-path.ts';
import { apply, callApi, kubectl } from '../../support/cluster.ts';
import { gatewayPod } from '../../support/gateway-pods.ts';
import { applyGatewaySync } from '../../support/gateway-syncs.ts';
import { openPort } from '../../support/open-port.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';
import { createPod, sidecarOf, startInjection } from './injection-world.ts';

interface Patch {
  op: 'add' | 'remove';
  path: string;
  value?: unknown;
}

/** Makes the API server call another injector, which patches every pod of the namespace. */
async function installOther(t: TestContext, address: { name: string; namespace: string }, patch: Patch[]) {
  const directory = await temporaryDirectory(t, 'other-injector-');
  const { caFile, certFile, keyFile } = await createCertificates(directory);
  const [cert, key, ca] = await Promise.all([certFile, keyFile, caFile].map((file) => readFile(file)));
  let isCalled = false;
  const server = createServer({ cert, key }, (request, response) => {
    isCalled = true;
    const answer = (review: string) => {
      const { uid } = JSON.parse(review).request;
      const encoded = Buffer.from(JSON.stringify(patch)).toString('base64');
      const allowed = { uid, allowed: true, patchType: 'JSONPatch', patch: encoded };
      response.writeHead(200, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response: allowed }));
    };
    text(request)
      .then(answer)
      .catch(() => response.destroy());
  });
  const port = await openPort(t, server);
  await apply({
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingWebhookConfiguration',
    metadata: { name: address.name },
    webhooks: [
      {
        name: 'other.test.io',
        clientConfig: { url: `https://127.0.0.1:${port}/`, caBundle: ca?.toString('base64') },
        rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }],
        namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': address.namespace } },
        failurePolicy: 'Fail',
        reinvocationPolicy: 'Never',
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
      },
    ],
  });
  t.after(() => kubectl('delete', 'mutatingwebhookconfiguration', address.name));
  // The API server calls it a moment after it is stored. The operator ignores pods that request no sidecar.
  const path = corePath('pods', address.namespace);
  const body = { metadata: { name: 'probe' }, spec: { containers: [{ name: 'probe', image: 'probe:1' }] } };
  const probe = () => callApi<object>({ method: 'POST', path, query: { dryRun: 'All' }, body }).catch(() => {});
  await until(() => probe().then(() => isCalled), { describe: 'the other injector to be called', accept: Boolean });
}

const proxy: Patch = { op: 'add', path: '/spec/containers/-', value: { name: 'proxy', image: 'proxy:1' } };

suite('the webhook next to another injector', { concurrency: 4 }, () => {
  /** Webhooks are called in the order of their configurations' names; the operator's begins with `test-`. */
  const orders: [what: string, prefix: string][] = [
    ['that comes first, the sidecar is added to its work', 'a'],
    ['that comes later, a second review changes nothing', 'z'],
  ];
  for (const [what, prefix] of orders)
    test(what, async (t) => {
      const { namespace, countReviews } = await startInjection(t);
      await applyGatewaySync({ namespace, name: 'app' }, { repo: 'http://127.0.0.1:1/app.git' });
      await installOther(t, { name: `${prefix}-${namespace}`, namespace }, [proxy]);
      const pod = await createPod(gatewayPod(namespace, 'gateway-0'));
      sidecarOf(pod);
      assert.deepEqual(
        pod.spec.containers.map(({ name }) => name),
        ['gateway', 'proxy'],
      );
      // In both cases the API server calls it again, because it mounts a token into the other one's container.
      assert.deepEqual(await countReviews(), { patched: 1, unchanged: 1 });
    });

  test('restores its labels in the second review if the other one drops them', async (t) => {
    const { namespace, countReviews } = await startInjection(t);
    await applyGatewaySync({ namespace, name: 'app' }, { repo: 'http://127.0.0.1:1/app.git' });
    await installOther(t, { name: `z-${namespace}`, namespace }, [{ op: 'remove', path: '/metadata/labels' }]);
    const pod = await createPod(gatewayPod(namespace, 'gateway-0'));
    sidecarOf(pod);
    assert.deepEqual(pod.metadata.labels, { 'sync.io/agent': 'true' });
    assert.deepEqual(await countReviews(), { patched: 2 });
  });
});
