import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { apply, connectCluster, createNamespace, kubectl } from '../support/cluster.ts';
import { gatewayPod } from '../support/gateway-pods.ts';
import { until } from '../support/until.ts';
import { pick, render } from './support/render.ts';

/** Dry-runs the creation of a pod. Returns whether the API server called the webhook, which has no server here. */
async function callsWebhook(namespace: string, label: string): Promise<boolean> {
  const { kubectlWith } = await connectCluster();
  const pod = gatewayPod(namespace, 'gateway');
  const labelled = { ...pod, metadata: { ...pod.metadata, labels: { 'test.sync.io/only': label } } };
  return await kubectlWith(labelled, 'create', '--dry-run=server', '--filename', '-').then(
    () => false,
    (error: Error) => {
      assert.match(error.message, /failed calling webhook/);
      return true;
    },
  );
}

test('the webhook is called only for pods that meet the additional conditions in the values', async (t) => {
  const [wanted, sandbox, otherwise] = await Promise.all([
    createNamespace(t, { team: 'plant', stage: 'live' }),
    createNamespace(t, { team: 'plant', stage: 'sandbox' }),
    createNamespace(t, { stage: 'live' }),
  ]);
  const namespaceSelector = {
    matchLabels: { team: 'plant' },
    matchExpressions: [{ key: 'stage', operator: 'NotIn', values: ['sandbox'] }],
  };
  const objectSelector = { matchLabels: { 'test.sync.io/only': wanted } };
  const webhookValues = { failurePolicy: 'Fail', timeoutSeconds: 3, namespaceSelector, objectSelector };
  const values = { certManager: { enabled: false }, fullnameOverride: wanted, webhook: webhookValues };
  const configuration = pick(await render(values, { namespace: wanted }), 'MutatingWebhookConfiguration');
  await apply(configuration);
  t.after(() => kubectl('delete', 'mutatingwebhookconfiguration', configuration.metadata.name));
  await until(() => callsWebhook(wanted, wanted), { describe: 'the webhook to be in effect' });
  const calls = (namespace: string, label: string) =>
    until(async () => ({ called: await callsWebhook(namespace, label) }), { describe: `a pod in ${namespace}` });
  assert.equal((await calls(wanted, 'another')).called, false, 'a pod without the label');
  assert.equal((await calls(sandbox, wanted)).called, false, 'a namespace that an expression excludes');
  assert.equal((await calls(otherwise, wanted)).called, false, 'a namespace without the label');
});

suite('the webhook of the chart', () => {
  const settings: [requireLabel: boolean, plain: boolean, labelled: boolean][] = [
    [false, true, true],
    [true, false, true],
  ];
  for (const [requireLabel, plain, labelled] of settings)
    test(`with requireLabel ${requireLabel} is called in ${plain ? 'all but excluded' : 'labelled'} namespaces, and never in system namespaces`, async (t) => {
      const ordinary = await createNamespace(t);
      const enabled = await createNamespace(t, { 'sync.io/injection': 'enabled' });
      const otherwise = await createNamespace(t, { 'sync.io/injection': 'disabled' });
      const webhookValues = { failurePolicy: 'Fail', namespaceSelector: { requireLabel } };
      const values = { certManager: { enabled: false }, fullnameOverride: ordinary, webhook: webhookValues };
      const configuration = pick(await render(values, { namespace: ordinary }), 'MutatingWebhookConfiguration');
      // The cluster is shared with other tests: it is called for pods with our label only.
      configuration.webhooks[0].objectSelector = { matchLabels: { 'test.sync.io/only': ordinary } };
      await apply(configuration);
      t.after(() => kubectl('delete', 'mutatingwebhookconfiguration', configuration.metadata.name));
      const calls = (namespace: string) =>
        until(async () => ({ called: await callsWebhook(namespace, ordinary) }), { describe: `a pod in ${namespace}` });

      await until(() => callsWebhook(enabled, ordinary), { describe: 'the webhook to be in effect' });
      assert.deepEqual(
        {
          ordinary: (await calls(ordinary)).called,
          enabled: (await calls(enabled)).called,
          otherwise: (await calls(otherwise)).called,
          system: (await calls('kube-system')).called,
          leases: (await calls('kube-node-lease')).called,
        },
        { ordinary: plain, enabled: labelled, otherwise: plain, system: false, leases: false },
      );
      const labelSystem = async (label: string) =>
        kubectl('label', 'namespace', 'kube-node-lease', '--overwrite', `sync.io/injection${label}`);
      await labelSystem('=enabled');
      t.after(() => labelSystem('-'));
      assert.equal((await calls('kube-node-lease')).called, false, 'not even with the label');
    });
});
