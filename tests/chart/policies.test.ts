import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, test } from 'node:test';
import { FIELD_MANAGERS, REQUEST_ANNOTATIONS } from '../../shared/api/names.ts';
import { ApiError } from '../../shared/io/kubernetes/api-error.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { corePath, gatewaySyncPath, groupPath } from '../../shared/io/kubernetes/resource-path.ts';
import { apply, connectCluster, remove } from '../support/cluster.ts';
import { applyGatewaySync } from '../support/gateway-syncs.ts';
import { roleBinding } from '../support/role-binding.ts';
import { until } from '../support/until.ts';
import { clientFor, connectAdministrator } from './support/client-for.ts';
import { installRights } from './support/install-rights.ts';
import { pick, type Rendered, render } from './support/render.ts';

/** Expects that the API server forbids, for a reason that names `pattern`. */
async function refused(call: Promise<unknown>, pattern: RegExp): Promise<void> {
  await assert.rejects(call, (error: unknown) => {
    assert.ok(error instanceof ApiError, String(error));
    assert.match(error.message, pattern);
    return true;
  });
}

/** Policies take effect a moment after they are stored. */
async function untilRefused(call: () => Promise<unknown>, pattern: RegExp): Promise<void> {
  await until(() => call().then(() => 'accepted', String), {
    describe: `the policy to answer ${pattern}`,
    accept: (answer) => pattern.test(answer),
  });
}

/** An installation with its own certificate, which most tests share, and one with GitHub Apps. */
const selfSigned = { certManager: { enabled: false } };
const namespace = await installRights({ after }, { values: selfSigned });
const withApps = await installRights({ after }, { values: { ...selfSigned, githubApp: { enabled: true } } });
await applyGatewaySync({ namespace, name: 'site' }, { repo: 'https://git.test/site.git' });

test('the policies apply to renamed accounts', async (t) => {
  const named = { serviceAccount: { name: 'my-controller' } };
  const values = { ...named, webhookReceiver: { enabled: true, serviceAccount: { name: 'my-receiver' } } };
  await installRights(t, { namespace, values: { fullnameOverride: `${namespace}-renamed`, ...values } });
  const receiver = await clientFor({ namespace, serviceAccount: 'my-receiver' });
  const controller = await clientFor({ namespace, serviceAccount: 'my-controller' });
  const dryRun = { query: { dryRun: 'All' } };
  const binding = roleBinding({ namespace, name: 'other' }, 'sync-agent');
  const path = groupPath('rbac.authorization.k8s.io/v1', 'rolebindings', namespace);
  await untilRefused(
    () => receiver.mergePatch(gatewaySyncPath(namespace, 'site'), { spec: { paused: true } }, dryRun),
    /must not change the spec or the status/,
  );
  await untilRefused(() => controller.create(path, binding, dryRun), /RoleBindings named sync-agent-\*/);
});

test("an older request doesn't overwrite a newer one", async () => {
  const client = await clientFor({ namespace, serviceAccount: `${namespace}-receiver` });
  const path = gatewaySyncPath(namespace, 'site');
  const query = { fieldManager: FIELD_MANAGERS.receiver };
  const annotate = (annotations: Record<string, string>) =>
    client.mergePatch(path, { metadata: { annotations } }, { query });
  const probe = (annotations: Record<string, string>) =>
    client.mergePatch(path, { metadata: { annotations } }, { query: { ...query, dryRun: 'All' } });
  const at = (offsetMs: number) => new Date(Date.now() + offsetMs).toISOString();
  const administrator = await connectAdministrator();
  const store = (key: string, value: string) =>
    administrator.mergePatch(path, { metadata: { annotations: { [key]: value } } });

  await until(() => probe({ [REQUEST_ANNOTATIONS.requestedAt]: at(0) }), {
    describe: 'the permissions of the receiver',
  });
  for (const key of [REQUEST_ANNOTATIONS.requestedAt, REQUEST_ANNOTATIONS.pushedAt]) {
    await annotate({ [key]: at(0) });
    await untilRefused(() => probe({ [key]: at(-60_000) }), /superseded: .* older than the stored one/);
    await annotate({ [key]: at(-1_000) });
    await annotate({ [key]: at(0) });
    // Written by hand: no time, and a time ahead of the server's.
    for (const value of ['yesterday', '2026-02-31T00:00:00Z', '0000-01-01T00:00:00Z', at(3_600_000)]) {
      await store(key, value);
      await annotate({ [key]: at(0) });
    }
  }
  // On 29 February as well.
  for (const value of ['2028-02-29T00:00:00Z', '2400-02-29T23:59:59.999Z'])
    await probe({ [REQUEST_ANNOTATIONS.requestedAt]: value });
  for (const value of ['2027-02-29T00:00:00Z', '2100-02-29T00:00:00Z', '2028-02-30T00:00:00Z'])
    await refused(probe({ [REQUEST_ANNOTATIONS.requestedAt]: value }), /times in UTC/);
  // A push may be newer while the stored request stays as it is.
  await annotate({ [REQUEST_ANNOTATIONS.pushedAt]: at(0), [REQUEST_ANNOTATIONS.pushedRef]: 'refs/heads/main' });
});

test('an agent can write only the report of its own pod', async () => {
  const container = { name: 'gateway', image: 'gateway:1' };
  const administrator = await connectAdministrator();
  await until(() => administrator.getAs(corePath('serviceaccounts', namespace, 'default')), {
    describe: 'the default account',
  });
  await apply([
    { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'own', namespace }, spec: { containers: [container] } },
    roleBinding({ namespace, name: 'sync-agent-site' }, 'sync-agent'),
  ]);
  const { uid } = (await administrator.getAs<Rendered>(corePath('pods', namespace, 'own'))).metadata;
  const account = { namespace, serviceAccount: 'default' };
  const client = await clientFor({ ...account, pod: 'own' });
  const reports = groupPath('sync.io/v1alpha1', 'syncreports', namespace);
  const owner = { apiVersion: 'v1', kind: 'Pod', name: 'own', uid };
  const report = (
    name: string,
    { podUID = uid, ...metadata }: { podUID?: string | undefined; [key: string]: unknown } = {},
  ) => ({
    apiVersion: 'sync.io/v1alpha1',
    kind: 'SyncReport',
    metadata: { name, namespace, ownerReferences: [owner], ...metadata },
    status: { state: 'Pending', podUID },
  });
  const createAs = (by: KubernetesClient, body: object) => by.create(reports, body, { query: { dryRun: 'All' } });

  await untilRefused(() => createAs(client, report('other')), /only the report of its own pod/);
  await refused(createAs(client, report('own', { podUID: 'another' })), /status.podUID must be/);
  const others = [{ ...owner, uid: 'another' }];
  await refused(createAs(client, report('own', { ownerReferences: others })), /an owner other than the pod/);
  await refused(createAs(client, report('own', { ownerReferences: [] })), /owned by the pod/);
  await refused(createAs(await clientFor(account), report('own')), /only the report of its own pod/);
  const finalizers = ['example.test/hold'];
  await refused(createAs(client, report('own', { finalizers })), /must not set finalizers/);
  await client.create(reports, report('own'));
  const hold = { metadata: { finalizers } };
  await refused(client.mergePatch(`${reports}/own`, hold), /must not set finalizers/);
  const orphan = { metadata: { ownerReferences: null } };
  await refused(client.mergePatch(`${reports}/own`, orphan), /owned by the pod/);
  await refused(client.delete(`${reports}/own`), /cannot delete resource/);
  // Other finalizers remain, and the agent continues.
  await administrator.mergePatch(`${reports}/own`, hold);
  await client.mergePatch(`${reports}/own`, { status: { message: 'still here' } });
  await administrator.mergePatch(`${reports}/own`, { metadata: { finalizers: null } });
  // A report without its owner, such as a restored one, is the agent's again when it writes.
  await administrator.mergePatch(`${reports}/own`, orphan);
  await client.mergePatch(`${reports}/own`, { metadata: { ownerReferences: [owner] }, status: { message: 'again' } });
  // The policy doesn't apply to users.
  await administrator.create(reports, report('other'));
  // Nor can a gateway whose account has the permissions of developers.
  await apply(roleBinding({ namespace, name: 'gateway-edits' }, 'edit'));
  const foreign = { status: { message: 'not mine' } };
  await refused(client.mergePatch(`${reports}/other`, foreign), /only the report of its own pod/);
});

test("the controller can write only the agent's RoleBindings", async () => {
  const client = await clientFor({ namespace, serviceAccount: namespace });
  const path = groupPath('rbac.authorization.k8s.io/v1', 'rolebindings', namespace);
  const binding = (name: string, role = 'sync-agent') => roleBinding({ namespace, name }, role);
  const create = (body: object) => client.create(path, body, { query: { dryRun: 'All' } });

  await untilRefused(() => create(binding('other')), /RoleBindings named sync-agent-\*/);
  // It holds all that this role gives, so RBAC alone would let it pass.
  const reader = binding('sync-agent-x', `${namespace}-metrics-reader`);
  await refused(create(reader), /cannot bind|ClusterRole sync-agent|forbidden/);
  await refused(create(binding('sync-agent-x', namespace)), / ClusterRole sync-agent\b/);
  const subjects = [{ kind: 'ServiceAccount', name: 'default', namespace: 'default' }];
  await refused(create({ ...binding('sync-agent-x'), subjects }), /only service accounts of the same namespace/);
  await apply(binding('other'));
  await refused(client.delete(`${path}/other`), /RoleBindings named sync-agent-\*/);
  await client.create(path, binding('sync-agent-x'));
  await client.mergePatch(`${path}/sync-agent-x`, { subjects: [] });
  await client.delete(`${path}/sync-agent-x`);
});

test('the controller can change only the CA of its webhook', async (t) => {
  const values = { ...selfSigned, fullnameOverride: namespace };
  const configuration = pick(await render(values, { namespace }), 'MutatingWebhookConfiguration');
  const { name } = configuration.metadata;
  // The cluster is shared with other tests, and no webhook server runs.
  configuration.webhooks[0].namespaceSelector.matchLabels = { 'test.sync.io/webhook': namespace };
  await apply(configuration);
  t.after(() => remove([configuration]));
  const client = await clientFor({ namespace, serviceAccount: namespace });
  const path = groupPath('admissionregistration.k8s.io/v1', 'mutatingwebhookconfigurations', undefined, name);
  const patch = (change: { op: string; path: string; value?: unknown }, query = {}) =>
    client.request({ method: 'PATCH', path, body: [change], query, contentType: 'application/json-patch+json' });

  const dryRun = { dryRun: 'All' };
  const forbidden = /only the CA of its webhook/;
  const ignore = { op: 'replace', path: '/webhooks/0/failurePolicy', value: 'Ignore' };
  await untilRefused(() => patch(ignore, dryRun), forbidden);
  await refused(patch({ op: 'remove', path: '/webhooks/0/matchConditions' }), forbidden);
  await refused(patch({ op: 'remove', path: '/webhooks/0/namespaceSelector' }), forbidden);
  await refused(patch({ op: 'replace', path: '/webhooks/0/rules/0/resources', value: ['secrets'] }), forbidden);
  await refused(patch({ op: 'replace', path: '/webhooks/0/clientConfig/service/name', value: 'other' }), forbidden);
  await refused(patch({ op: 'remove', path: '/webhooks/0' }), forbidden);
  const caBundle = Buffer.from(await readFile((await connectCluster()).caFile)).toString('base64');
  await patch({ op: 'add', path: '/webhooks/0/clientConfig/caBundle', value: caBundle });
});

test('with GitHub Apps, the controller can write token Secrets and its own certificate, and no other Secret', async () => {
  const client = await clientFor({ namespace: withApps, serviceAccount: withApps });
  const owner = { apiVersion: 'sync.io/v1alpha1', kind: 'GatewaySync', name: 'site', uid: 'x' };
  const secret = (name: string, type = 'sync.io/git-token', owners: object[] = [owner]) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    type,
    metadata: { name, namespace: withApps, ownerReferences: owners },
  });
  const secrets = corePath('secrets', withApps);
  const create = (body: object) => client.create(secrets, body, { query: { dryRun: 'All' } });
  const words = /only Secrets of type sync.io\/git-token/;
  await untilRefused(() => create(secret('other', 'Opaque')), words);
  await refused(create(secret('sync-git-token-site', 'example.test/other')), words);
  await refused(create(secret('other')), words);
  const unowned = /must be owned by the GatewaySync that it is named after/;
  await refused(create(secret('sync-git-token-other')), unowned);
  for (const owners of [[], [{ ...owner, apiVersion: 'example.test/v1' }]])
    await refused(create(secret('sync-git-token-site', undefined, owners)), unowned);
  await create(secret('sync-git-token-site'));
  const own = `${withApps}-webhook-certificate`;
  await create(secret(own, 'Opaque', []));
  await refused(create(secret(own, 'example.test/other', [])), words);
});

test('without GitHub Apps, the controller can write its own certificate, and no other Secret', async () => {
  const client = await clientFor({ namespace, serviceAccount: namespace });
  const own = `${namespace}-webhook-certificate`;
  const create = (name: string, type: string, annotations = {}) =>
    client.create(
      corePath('secrets', namespace),
      { apiVersion: 'v1', kind: 'Secret', type, metadata: { name, namespace, annotations } },
      { query: { dryRun: 'All' } },
    );
  const words = /only the Secret of its own certificate/;
  await untilRefused(() => create('other', 'Opaque'), words);
  // With that it would become another account: a controller of Kubernetes puts the token in.
  const account = { 'kubernetes.io/service-account.name': 'default' };
  await refused(create('other', 'kubernetes.io/service-account-token', account), words);
  await refused(create(own, 'kubernetes.io/service-account-token', account), words);
  await create(own, 'Opaque');
});
