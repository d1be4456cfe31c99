import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, suite, type TestContext, test } from 'node:test';
import { apply, callApi, createNamespace, remove } from '../support/cluster.ts';
import { until } from '../support/until.ts';
import { pick, render } from './support/render.ts';

type Annotations = Record<string, string>;

const inject: Annotations = { 'sync.io/inject': 'true' };

/** Namespaces in which pods are created, by their labels. */
const labels = {
  plain: {},
  enabled: { 'sync.io/injection': 'enabled' },
  disabled: { 'sync.io/injection': 'disabled' },
  plant: { team: 'plant', stage: 'live' },
  sandbox: { team: 'plant', stage: 'sandbox' },
};

const namespaces: Record<string, string> = { system: 'kube-system' };
for (const [name, own] of Object.entries(labels)) namespaces[name] = await createNamespace({ after }, own);
for (const namespace of Object.values(namespaces))
  await until(() => callApi({ path: `/api/v1/namespaces/${namespace}/serviceaccounts/default` }), {
    describe: `the default account of ${namespace}`,
  });

/** Installs the webhook with a selector of namespaces, and waits until it is called for pods in one of them. */
async function installWebhook(t: TestContext, where: string, namespaceSelector: object = {}) {
  // The cluster is shared with other tests, so pods have a label of this one.
  const name = `webhook-${randomUUID().slice(0, 8)}`;
  const objectSelector = { matchLabels: { 'test.sync.io/only': name } };
  const webhook = { failurePolicy: 'Fail', timeoutSeconds: 3, objectSelector, namespaceSelector };
  const objects = await render({ certManager: { enabled: false }, fullnameOverride: name, webhook });
  const configuration = pick(objects, 'MutatingWebhookConfiguration');
  await apply(configuration);
  t.after(() => remove([configuration]));

  /** Dry-runs the creation of a pod. Returns whether the API server called the webhook, which has no server here. */
  const isCalled = async (place: string, { annotations = inject, only = name } = {}) => {
    const pod = {
      metadata: { name: 'gateway', annotations, labels: { 'test.sync.io/only': only } },
      spec: { containers: [{ name: 'gateway', image: 'gateway:1' }] },
    };
    const path = `/api/v1/namespaces/${namespaces[place]}/pods`;
    return await callApi({ method: 'POST', path, body: pod, query: { dryRun: 'All' } }).then(
      () => false,
      (error: Error) => {
        assert.match(error.message, /failed calling webhook "inject\.sync\.io"/);
        return true;
      },
    );
  };
  await until(() => isCalled(where), { describe: 'the webhook to be in effect' });
  return isCalled;
}

suite('the webhook is called', () => {
  const cases: [what: string, selector: object, called: Record<string, boolean>][] = [
    ['in all but system namespaces', {}, { plain: true, enabled: true, disabled: true, system: false }],
    [
      'with requireLabel in labelled namespaces only',
      { requireLabel: true },
      { enabled: true, plain: false, disabled: false, system: false },
    ],
    [
      'in namespaces that meet the additional conditions in the values',
      {
        matchLabels: { team: 'plant' },
        matchExpressions: [{ key: 'stage', operator: 'NotIn', values: ['sandbox'] }],
      },
      { plant: true, sandbox: false, plain: false },
    ],
  ];
  for (const [what, selector, called] of cases)
    test(what, async (t) => {
      const places = Object.keys(called);
      const isCalled = await installWebhook(t, places[0] ?? '', selector);
      const answers = await Promise.all(places.map(async (place) => [place, await isCalled(place)]));
      assert.deepEqual(Object.fromEntries(answers), called);
    });

  test('only for pods that request the agent, and that the selector in the values matches', async (t) => {
    const isCalled = await installWebhook(t, 'plain');
    const others: Annotations[] = [{}, { other: 'true' }, { 'sync.io/inject': 'false' }];
    for (const annotations of others)
      assert.equal(await isCalled('plain', { annotations }), false, JSON.stringify(annotations));
    assert.equal(await isCalled('plain', { only: 'another' }), false);
  });
});
