import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { environmentOf, pick, render } from './support/render.ts';

const selfSigned = { certManager: { enabled: false } };

suite('the webhook of the chart', { concurrency: true }, () => {
  for (const requireLabel of [false, true]) {
    test(`system namespaces stay excluded with requireLabel ${requireLabel}`, async () => {
      const values = { ...selfSigned, webhook: { namespaceSelector: { requireLabel } } };
      const objects = await render(values);
      const { WEBHOOK_REQUIRE_LABEL } = environmentOf(pick(objects, 'Deployment', 'stoker-operator'));
      assert.equal(WEBHOOK_REQUIRE_LABEL, String(requireLabel), 'the controller tells it where a sidecar is missing');
      const [webhook] = pick(objects, 'MutatingWebhookConfiguration').webhooks;
      const [excluded, ...others] = webhook.namespaceSelector.matchExpressions;
      const system = ['kube-system', 'kube-node-lease'];
      assert.deepEqual(excluded, { key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: system });
      assert.deepEqual(others, requireLabel ? [{ key: 'sync.io/injection', operator: 'In', values: ['enabled'] }] : []);
    });
  }

  test('with watchNamespaces, pods in other namespaces cause no call of the webhook', async () => {
    const values = { ...selfSigned, controller: { watchNamespaces: ['a', 'b'] } };
    const [webhook] = pick(await render(values), 'MutatingWebhookConfiguration').webhooks;
    const watched = { key: 'kubernetes.io/metadata.name', operator: 'In', values: ['a', 'b'] };
    assert.deepEqual(webhook.namespaceSelector.matchExpressions.slice(1), [watched]);
  });

  test('with cert-manager, the CA comes from the certificate that the controller serves', async () => {
    const objects = await render();
    const certificate = pick(objects, 'Certificate', '-webhook');
    const configuration = pick(objects, 'MutatingWebhookConfiguration');
    const { name, namespace } = certificate.metadata;
    assert.equal(configuration.metadata.annotations?.['cert-manager.io/inject-ca-from'], `${namespace}/${name}`);
    const { service } = configuration.webhooks[0].clientConfig;
    assert.ok(certificate.spec.dnsNames.includes(`${service.name}.${service.namespace}.svc`));
    const volumes: { secret?: { secretName: string } }[] = pick(objects, 'Deployment').spec.template.spec.volumes;
    assert.ok(volumes.some(({ secret }) => secret?.secretName === certificate.spec.secretName));
  });

  test("the webhook's certificate is renewed under the same CA, so that a renewal breaks no handshake", async () => {
    const objects = await render();
    const leaf = pick(objects, 'Certificate', '-webhook');
    const issuer = pick(objects, 'Issuer', leaf.spec.issuerRef.name);
    const ca = pick(objects, 'Certificate', '-webhook-ca');
    assert.equal(issuer.spec.ca.secretName, ca.spec.secretName);
    assert.equal(ca.spec.isCA, true);
    assert.equal(ca.spec.privateKey.rotationPolicy, 'Never');
    assert.ok(Number.parseInt(ca.spec.duration, 10) >= 5 * 365 * 24, 'hours');
    assert.equal(leaf.spec.isCA, undefined);
    assert.deepEqual(pick(objects, 'Issuer', ca.spec.issuerRef.name).spec, { selfSigned: {} });
  });

  test("an issuer in the values replaces the chart's CA", async () => {
    const issuerRef = { name: 'company', kind: 'ClusterIssuer' };
    const objects = await render({ 'certManager.issuerRef': issuerRef });
    const ours = objects.filter(({ apiVersion }) => apiVersion.startsWith('cert-manager.io/'));
    assert.deepEqual(
      ours.map(({ spec }) => spec.issuerRef),
      [{ ...issuerRef, group: 'cert-manager.io' }],
    );
  });

  test('without the webhook, the chart has no configuration, certificate, or Service for it', async () => {
    const objects = await render({ webhook: { enabled: false } });
    const names = objects.map(({ kind, metadata }) => `${kind}/${metadata.name}`);
    for (const name of names) assert.doesNotMatch(name, /webhook|Certificate|Issuer/i);
  });
});
