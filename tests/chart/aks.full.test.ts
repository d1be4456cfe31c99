import assert from 'node:assert/strict';
import { after, before, suite, type TestContext, test } from 'node:test';
import { parse } from 'yaml';
import { renderInstallManifest } from '../../scripts/release/install-manifest.ts';
import { type ControlPlane, startControlPlane } from '../../scripts/testbed/control-plane.ts';
import { FIELD_MANAGERS } from '../../shared/api/names.ts';
import { blocksOf, readPages } from '../support/markdown.ts';
import { clientWith } from './support/client-for.ts';
import { Installation } from './support/installation.ts';
import { chart } from './support/render.ts';

interface Expression {
  key: string;
  operator: string;
  values?: string[];
}

interface Configuration {
  metadata: { managedFields: { manager: string }[] };
  webhooks: [{ clientConfig: { caBundle?: string }; namespaceSelector: { matchExpressions: Expression[] } }];
}

/** What AKS adds to each webhook: https://github.com/Azure/AKS/issues/4002. */
const ADDED: Expression[] = [
  { key: 'control-plane', operator: 'NotIn', values: ['true'] },
  { key: 'kubernetes.azure.com/managedby', operator: 'NotIn', values: ['aks'] },
];
const CA_BUNDLE = Buffer.from('-----BEGIN CERTIFICATE-----\n').toString('base64');
const withoutCertManager = { certManager: { enabled: false } };

let cluster: ControlPlane;
let isHelm4: boolean;

before(async () => {
  cluster = await startControlPlane();
  const installation = new Installation(cluster, { release: 'none', namespace: 'none' });
  isHelm4 = (await installation.helm('version', '--short')).startsWith('v4');
});

after(() => cluster?.stop());

/** The values that the installation page lists for AKS. */
async function documentedValues(): Promise<object> {
  const page = (await readPages()).find(({ file }) => file === 'docs/how-to/installation.md');
  const code = page && blocksOf(page).find(({ code }) => code.startsWith('# values.yaml: for AKS'))?.code;
  return { ...withoutCertManager, ...parse(code ?? '') };
}

/** The webhook of an installation, and the clients that write it. */
function webhookOf(name: string) {
  const client = clientWith(cluster.kubeconfig);
  const path = `/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/${name}`;
  const read = () => client.get<Configuration>(path);
  const patch = (manager: string, body: object[]) =>
    client.request({
      method: 'PATCH',
      path,
      body,
      contentType: 'application/json-patch+json',
      query: { fieldManager: manager },
    });
  return {
    read,
    expressions: async () => (await read()).webhooks[0].namespaceSelector.matchExpressions,
    managers: async () => (await read()).metadata.managedFields.map(({ manager }) => manager),
    /** Adds the expressions that are missing, as AKS does after each change. */
    enforce: async () => {
      const [{ namespaceSelector }] = (await read()).webhooks;
      const present = namespaceSelector.matchExpressions;
      const missing = ADDED.filter(
        ({ key, operator }) => !present.some((each) => each.key === key && each.operator === operator),
      );
      const path = '/webhooks/0/namespaceSelector/matchExpressions/-';
      if (missing.length > 0)
        await patch(
          'admissionsenforcer',
          missing.map((value) => ({ op: 'add', path, value })),
        );
    },
    /** Publishes a CA, as the controller does. */
    publishCa: () =>
      patch(FIELD_MANAGERS.controller, [{ op: 'add', path: '/webhooks/0/clientConfig/caBundle', value: CA_BUNDLE }]),
  };
}

function install(t: TestContext, release: string) {
  const installation = new Installation(cluster, { release, namespace: release });
  t.after(() => installation.remove());
  return { installation, webhook: webhookOf(`${release}-stoker-operator-webhook`) };
}

suite('on AKS, which changes the selector of the webhook', () => {
  test('Helm upgrades an installation with the documented values, again and again', async (t) => {
    const { installation, webhook } = install(t, 'documented');
    const values = await documentedValues();
    for (const replicaCount of [1, 2, 2]) {
      await installation.upgrade(chart, { ...values, replicaCount });
      await webhook.enforce();
      await webhook.publishCa();
    }
    assert.ok(!(await webhook.managers()).includes('admissionsenforcer'));
    assert.equal((await webhook.read()).webhooks[0].clientConfig.caBundle, CA_BUNDLE);
  });

  test('the documented values also end a conflict', async (t) => {
    const { installation, webhook } = install(t, 'conflicting');
    await installation.upgrade(chart, withoutCertManager);
    await webhook.enforce();
    if (isHelm4)
      await assert.rejects(installation.upgrade(chart, withoutCertManager), /conflict.*"admissionsenforcer"/s);
    const values = await documentedValues();
    await installation.upgrade(chart, values);
    await webhook.enforce();
    await installation.upgrade(chart, values);
    assert.deepEqual((await webhook.expressions()).slice(1), ADDED);
  });

  test('a Helm release of Helm 3 is upgraded by Helm 4 without flags, and moves to server-side apply', async (t) => {
    if (!isHelm4) return t.skip('it needs Helm 4');
    const { installation, webhook } = install(t, 'moved');
    // As Helm 3 does.
    await installation.upgrade(chart, withoutCertManager, '--server-side=false');
    await webhook.enforce();
    await webhook.publishCa();
    await installation.upgrade(chart, { ...withoutCertManager, replicaCount: 2 });
    const values = await documentedValues();
    await installation.upgrade(chart, values, '--server-side=true', '--force-conflicts');
    await webhook.enforce();
    await installation.upgrade(chart, { ...values, replicaCount: 2 });
    assert.equal((await webhook.read()).webhooks[0].clientConfig.caBundle, CA_BUNDLE);
  });

  test('kubectl applies install.yaml twice', async (t) => {
    const installation = new Installation(cluster, { release: 'stoker-operator', namespace: 'stoker-system' });
    t.after(() => installation.remove());
    const manifest = await renderInstallManifest();
    const webhook = webhookOf('stoker-operator-webhook');
    for (let time = 0; time < 2; time += 1) {
      await cluster.kubectlWith(manifest, 'apply', '--server-side', '--filename=-');
      await webhook.enforce();
      await webhook.publishCa();
    }
    assert.equal((await webhook.read()).webhooks[0].clientConfig.caBundle, CA_BUNDLE);
  });
});
