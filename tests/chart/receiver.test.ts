import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chart, environmentOf, helm, pick, type Rendered, render } from './support/render.ts';

const renderReceiver = (webhookReceiver: object) => render({ webhookReceiver: { enabled: true, ...webhookReceiver } });

/** Where a file variable of the receiver leads: the name of the Secret and the key in it. */
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

for (const { method, variable, key } of methods) {
  test(`${method}: an inline value becomes a Secret of the chart`, async () => {
    const objects = await renderReceiver({ [method]: { secret: 'inline' } });
    const mounted = mountedAt(objects, variable);
    const secret = pick(objects, 'Secret');
    assert.deepEqual(mounted, { secret: secret.metadata.name, key });
    assert.equal(Buffer.from(secret.data[key], 'base64').toString(), 'inline');
  });

  test(`${method}: secretRef wins over an inline value, of which nothing remains`, async () => {
    const objects = await renderReceiver({ [method]: { secret: 'inline', secretRef: { name: 'mine', key: 'mine' } } });
    assert.deepEqual(mountedAt(objects, variable), { secret: 'mine', key: 'mine' });
    assert.deepEqual(
      objects.filter(({ kind }) => kind === 'Secret'),
      [],
    );
  });
}

test('inline values never stand in the Deployment', async () => {
  const objects = await renderReceiver({ hmac: { secret: 'hidden' }, token: { secret: 'hidden' } });
  assert.equal(JSON.stringify(pick(objects, 'Deployment', '-receiver')).includes('hidden'), false);
});

test('nothing of the receiver exists when it is off', async () => {
  const objects = await render({ webhookReceiver: { hmac: { secret: 'x' }, ingress: { enabled: true } } });
  assert.deepEqual(
    objects.filter(({ metadata }) => metadata.name.includes('receiver')),
    [],
  );
});

test('the receiver may patch GatewaySyncs and no more', async () => {
  const { rules } = pick(await renderReceiver({}), 'ClusterRole', '-receiver');
  assert.deepEqual(rules, [{ apiGroups: ['sync.io'], resources: ['gatewaysyncs'], verbs: ['patch'] }]);
});

test('the notes warn of an open receiver, and only of that', async () => {
  const notes = (...flags: string[]) =>
    helm('install', 'test', chart, '--dry-run=client', '--set=webhookReceiver.enabled=true', ...flags);
  assert.match(await notes(), /WARNING: the push receiver is open/);
  assert.doesNotMatch(await notes('--set=webhookReceiver.token.secret=x'), /WARNING/);
});

test('an Ingress leads to the port of the receiver', async () => {
  const hosts = [{ host: 'hooks.test', paths: [{ path: '/webhook', pathType: 'Prefix' }] }];
  const objects = await renderReceiver({ ingress: { enabled: true, hosts } });
  const [rule] = pick(objects, 'Ingress').spec.rules;
  const service = pick(objects, 'Service', '-receiver');
  const { backend } = rule.http.paths[0];
  assert.deepEqual(backend.service, { name: service.metadata.name, port: { name: service.spec.ports[0].name } });
});

test('a path of an Ingress without pathType is refused', async () => {
  const hosts = [{ host: 'hooks.test', paths: [{ path: '/webhook' }] }];
  await assert.rejects(renderReceiver({ ingress: { enabled: true, hosts } }), /missing property 'pathType'/);
});

test('the receiver trusts the ingress to say where a sender is, and nobody else', async () => {
  const hopsOf = async (webhookReceiver: object) => {
    const objects = await render({ webhookReceiver: { enabled: true, ...webhookReceiver } });
    return environmentOf(pick(objects, 'Deployment', '-receiver')).TRUSTED_PROXY_HOPS;
  };
  assert.equal(await hopsOf({}), '0');
  assert.equal(await hopsOf({ ingress: { enabled: true } }), '1');
  assert.equal(await hopsOf({ trustedProxyHops: 2 }), '2');
  assert.equal(await hopsOf({ ingress: { enabled: true }, trustedProxyHops: 0 }), '0');
});
