import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { readReceiverConfig } from '../../receiver/config.ts';
import { environmentOf, pick, type Rendered, render } from './support/render.ts';

/** Autoscaling depends on the CPU request, whose default suits an idle receiver. */
const roomy = { resources: { requests: { cpu: '100m' } } };

const renderReceiver = (webhookReceiver: object) => render({ webhookReceiver: { enabled: true, ...webhookReceiver } });

/** Values of the receiver with an Ingress, and with the secret that it needs. */
const ingressFor = (host: string) => ({
  hmac: { secret: 'x' },
  ingress: { enabled: true, hosts: [{ host, paths: [{ path: '/webhook', pathType: 'Prefix' }] }] },
});

/** Returns the name and the key of the Secret to which a file variable of the receiver points. */
function mountedAt(objects: Rendered[], variable: string): { secret: string; key: string } | undefined {
  const deployment = pick(objects, 'Deployment', '-receiver');
  const file = environmentOf(deployment)[variable];
  if (!file) return undefined;
  const { volumes, containers } = deployment.spec.template.spec;
  const mounts: { name: string; mountPath: string; subPath?: string }[] = containers[0].volumeMounts;
  const mount = mounts.find(({ mountPath }) => file.startsWith(`${mountPath}/`));
  assert.ok(mount, `${file} is not mounted`);
  assert.equal(mount.subPath, undefined, 'a single mounted file is never updated');
  const volume = volumes.find(({ name }: { name: string }) => name === mount.name);
  return { secret: volume.secret.secretName, key: file.slice(mount.mountPath.length + 1) };
}

const methods = [
  { method: 'hmac', variable: 'WEBHOOK_HMAC_SECRET_FILE', key: 'webhook-secret' },
  { method: 'token', variable: 'WEBHOOK_BEARER_TOKEN_FILE', key: 'webhook-token' },
];

suite('the receiver of the chart', { concurrency: true }, () => {
  for (const { method, variable, key } of methods) {
    test(`an inline ${method} value is only in a Secret of the chart, and nowhere next to a secretRef`, async () => {
      const objects = await renderReceiver({ [method]: { secret: 'inline' } });
      const secret = pick(objects, 'Secret');
      assert.deepEqual(mountedAt(objects, variable), { secret: secret.metadata.name, key });
      assert.equal(Buffer.from(secret.data[key], 'base64').toString(), 'inline');
      assert.ok(!JSON.stringify(pick(objects, 'Deployment', '-receiver')).includes('inline'));
      const secretRef = { name: 'mine', key: 'mine' };
      const referring = await renderReceiver({ [method]: { secret: 'inline', secretRef } });
      assert.deepEqual(mountedAt(referring, variable), { secret: 'mine', key: 'mine' });
      assert.ok(!referring.some(({ kind }) => kind === 'Secret'));
    });
  }

  test('a disabled receiver has no objects', async () => {
    const objects = await render({ webhookReceiver: { hmac: { secret: 'x' }, ingress: { enabled: true } } });
    assert.ok(!objects.some(({ metadata }) => metadata.name.includes('receiver')));
  });

  test("an Ingress leads to the receiver's port, for every host if its host is empty", async () => {
    const objects = await renderReceiver(ingressFor(''));
    const [{ host, http }] = pick(objects, 'Ingress').spec.rules;
    const { metadata, spec } = pick(objects, 'Service', '-receiver');
    assert.deepEqual(http.paths[0].backend.service, { name: metadata.name, port: { name: spec.ports[0].name } });
    assert.equal(host, undefined);
  });

  test('the receiver trusts only its Ingress for the addresses of senders', async () => {
    const hopsOf = async (values: object) =>
      environmentOf(pick(await renderReceiver(values), 'Deployment', '-receiver')).TRUSTED_PROXY_HOPS;
    assert.equal(await hopsOf({}), '0');
    assert.equal(await hopsOf(ingressFor('hooks.test')), '1');
    assert.equal(await hopsOf({ trustedProxyHops: 2 }), '2');
    assert.equal(await hopsOf({ ...ingressFor('hooks.test'), trustedProxyHops: 0 }), '0');
  });

  test('the receiver reads every value from its environment', async () => {
    const objects = await renderReceiver({
      port: 9999,
      hmac: { secretRef: { name: 'mine' } },
      token: { secret: 'inline' },
      tls: { secretName: 'receiver-tls' },
      maxBodyBytes: 25_000_000,
      maxConnections: 50,
      maxAuthFailuresPerMinute: 0,
      trustedProxyHops: 3,
    });
    const { RECEIVER_HOST: _, ...config } = readReceiverConfig(environmentOf(pick(objects, 'Deployment', '-receiver')));
    assert.deepEqual(config, {
      RECEIVER_PORT: 9999,
      HEALTH_PORT: 8081,
      METRICS_PORT: 8080,
      MAX_BODY_BYTES: 25_000_000,
      MAX_CONNECTIONS: 50,
      MAX_AUTH_FAILURES_PER_MINUTE: 0,
      TRUSTED_PROXY_HOPS: 3,
      TLS_CERT_FILE: '/etc/webhook/tls/tls.crt',
      TLS_KEY_FILE: '/etc/webhook/tls/tls.key',
      WEBHOOK_HMAC_SECRET_FILE: '/etc/webhook/hmac/webhook-secret',
      WEBHOOK_BEARER_TOKEN_FILE: '/etc/webhook/token/webhook-token',
      LOG_LEVEL: 'info',
      LOG_DEV_MODE: false,
      connectionsPerAddress: 0,
      tls: { certFile: '/etc/webhook/tls/tls.crt', keyFile: '/etc/webhook/tls/tls.key' },
      secrets: {
        hmac: { file: '/etc/webhook/hmac/webhook-secret' },
        bearer: { file: '/etc/webhook/token/webhook-token' },
      },
    });
  });

  test("with a certificate, Service and Ingress use https, and the probes don't change", async () => {
    const objects = await renderReceiver({ tls: { secretName: 'receiver-tls' }, ...ingressFor('hooks.test') });
    const [port] = pick(objects, 'Service', '-receiver').spec.ports;
    assert.deepEqual(port, { name: 'https', port: 9444, targetPort: 'https', appProtocol: 'https' });
    const [path] = pick(objects, 'Ingress').spec.rules[0].http.paths;
    assert.equal(path.backend.service.port.name, 'https');
    const [container] = pick(objects, 'Deployment', '-receiver').spec.template.spec.containers;
    assert.equal(container.ports[0].name, 'https');
    for (const probe of [container.livenessProbe, container.readinessProbe]) {
      assert.equal(probe.httpGet.port, 'health');
      assert.equal(probe.httpGet.scheme, undefined);
    }
  });

  test('two or more receivers are spread over nodes, and stay available during drains', async () => {
    const replicated = await renderReceiver({});
    const { matchLabels } = pick(replicated, 'Deployment', '-receiver').spec.selector;
    const [spread] = pick(replicated, 'Deployment', '-receiver').spec.template.spec.topologySpreadConstraints;
    assert.deepEqual(spread, {
      maxSkew: 1,
      topologyKey: 'kubernetes.io/hostname',
      whenUnsatisfiable: 'ScheduleAnyway',
      labelSelector: { matchLabels },
    });
    const budget = pick(replicated, 'PodDisruptionBudget', '-receiver');
    assert.equal(budget.spec.maxUnavailable, 1);
    assert.deepEqual(budget.spec.selector.matchLabels, matchLabels);
    // A budget for a single pod would keep its node from being drained, or mean nothing.
    for (const values of [{ replicaCount: 1 }, { ...roomy, autoscaling: { enabled: true, minReplicas: 1 } }]) {
      const kinds = (await renderReceiver(values)).map(({ kind }) => kind);
      assert.equal(kinds.includes('PodDisruptionBudget'), false);
    }
  });

  test("the autoscaler scales the receiver's Deployment", async () => {
    const objects = await renderReceiver({ ...roomy, autoscaling: { enabled: true } });
    const { name } = pick(objects, 'Deployment', '-receiver').metadata;
    const { scaleTargetRef } = pick(objects, 'HorizontalPodAutoscaler').spec;
    assert.deepEqual(scaleTargetRef, { apiVersion: 'apps/v1', kind: 'Deployment', name });
  });

  test("labels in the values never replace labels that select the receiver's pods", async () => {
    const podLabels = { 'app.kubernetes.io/component': 'mine', team: 'platform' };
    const deployment = pick(await renderReceiver({ podLabels }), 'Deployment', '-receiver');
    const { labels } = deployment.spec.template.metadata;
    assert.equal(labels.team, 'platform');
    for (const [key, value] of Object.entries(deployment.spec.selector.matchLabels)) assert.equal(labels[key], value);
  });
});
