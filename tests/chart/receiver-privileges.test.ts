import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { INSPECT_ANNOTATION, REQUEST_ANNOTATIONS, ROLLOUT_ANNOTATIONS } from '../../shared/api/names.ts';
import { ApiError } from '../../shared/io/kubernetes/api-error.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { corePath, gatewaySyncPath, syncReportPath } from '../../shared/io/kubernetes/resource-path.ts';
import { createGatewaySync, startReceiver } from '../integration/receiver/start-receiver.ts';
import { connectCluster } from '../support/cluster.ts';
import { until } from '../support/until.ts';
import { connectAdministrator } from './support/client-for.ts';
import { installReceiverRights } from './support/install-receiver-rights.ts';
import type { Rendered } from './support/render.ts';

/** Returns `allowed`, or the status with which the API server rejects a call. */
async function verdict(call: Promise<unknown>): Promise<string> {
  return await call.then(
    () => 'allowed',
    (error: unknown) => (error instanceof ApiError ? String(error.status) : Promise.reject(error)),
  );
}

async function assertAllRefused(calls: Record<string, () => Promise<unknown>>): Promise<void> {
  for (const [name, call] of Object.entries(calls)) assert.match(await verdict(call()), /^(403|422)$/, name);
}

interface FieldOwner {
  manager: string;
  fieldsV1: object;
}

const ownersOf = ({ metadata }: Rendered): FieldOwner[] =>
  (metadata as unknown as { managedFields: FieldOwner[] }).managedFields;

/** Server-side apply, which the programs don't use. */
function apply(client: KubernetesClient, path: string, body: object): Promise<unknown> {
  const query = { fieldManager: 'sync-receiver', force: true };
  return client.request({ method: 'PATCH', path, body, contentType: 'application/apply-patch+yaml', query });
}

const rights = await installReceiverRights({ after });
const administrator = await connectAdministrator();

/** Creates a GatewaySync, and returns what a test does with it as an administrator. */
async function createResource(name: string) {
  const { namespace } = rights;
  await createGatewaySync(await connectCluster(), namespace, name);
  const path = gatewaySyncPath(namespace, name);
  const patch = (body: object, fieldManager = 'kubectl') =>
    administrator.mergePatch(path, body, { query: { fieldManager } });
  return { path, patch, stored: () => administrator.getAs<Rendered>(path) };
}

test('the receiver stores deliveries with the permissions from the chart', async (t) => {
  const { namespace, kubeconfig } = rights;
  const { stored } = await createResource('delivered');
  const receiver = await startReceiver(t, kubeconfig);
  const answers = [
    await receiver.post(`${namespace}/delivered`, { ref: 'v1', reason: 'a test' }),
    await receiver.post(`${namespace}/delivered`, { ref: 'refs/heads/main' }),
  ];
  for (const { status, body } of answers) assert.deepEqual([status, body.superseded], [202, undefined]);
  const { annotations } = (await stored()).metadata;
  assert.equal(annotations?.['sync.io/requested-ref'], 'v1');
  assert.equal(annotations?.['sync.io/request-id'], answers[0]?.body.requestId);
  assert.equal(annotations?.['sync.io/pushed-ref'], 'refs/heads/main');
});

test("the receiver's credentials can't get, list, or create any object", async () => {
  const { namespace, serviceAccount, client } = rights;
  const reads = [gatewaySyncPath(namespace, 'demo'), gatewaySyncPath(namespace), gatewaySyncPath(), syncReportPath()];
  for (const kind of ['secrets', 'configmaps', 'pods', 'serviceaccounts', 'events', 'namespaces']) {
    reads.push(corePath(kind), corePath(kind, namespace));
  }
  for (const path of reads) assert.equal(await verdict(client.getAs(path)), '403', path);
  const named = { metadata: { name: 'x', namespace } };
  const sync = { apiVersion: 'sync.io/v1alpha1', kind: 'GatewaySync', ...named };
  const { spec } = await administrator.getAs<Rendered>(gatewaySyncPath(namespace, 'demo'));
  await assertAllRefused({
    'another kind': () => client.create(corePath('configmaps', namespace), { ...named, data: {} }),
    'an event': () => client.create(corePath('events', namespace), { ...named, involvedObject: {} }),
    'a token': () => client.create(`${corePath('serviceaccounts', namespace, serviceAccount)}/token`, { spec: {} }),
    'a resource': () => client.create(gatewaySyncPath(namespace), { ...sync, spec }),
    'a resource by apply': () => apply(client, gatewaySyncPath(namespace, 'x'), { ...sync, spec }),
    'a replacement': () => client.replace(gatewaySyncPath(namespace, 'demo'), { ...sync, spec }),
    'a deletion': () => client.delete(gatewaySyncPath(namespace, 'demo')),
    'a deletion of all': () => client.delete(gatewaySyncPath(namespace)),
  });
});

test("the receiver's credentials can change only its own annotations, with any kind of patch", async () => {
  const { namespace, client } = rights;
  const { path, patch, stored } = await createResource('defended');
  await patch({ metadata: { annotations: { 'example.test/kept': 'yes' }, labels: { a: 'b' } } });
  const before = await stored();
  const metadata = (fields: object) => client.mergePatch(path, { metadata: fields });
  const jsonPatch = (...operations: object[]) =>
    client.request({ method: 'PATCH', path, body: operations, contentType: 'application/json-patch+json' });
  const owner = { apiVersion: 'v1', kind: 'Pod', name: 'x', uid: 'x' };
  const kept = '/metadata/annotations/example.test~1kept';
  const isOfSpec = ({ fieldsV1 }: { fieldsV1: object }) => 'f:spec' in fieldsV1;
  const specOwner = ownersOf(before).find(isOfSpec);
  assert.ok(specOwner);
  const ownerOf = (manager: string, operation: string, annotation = 'example.test/kept') => {
    const fieldsV1 = { 'f:metadata': { 'f:annotations': { [`f:${annotation}`]: {} } } };
    return { ...specOwner, manager, operation, time: '2100-01-01T00:00:00Z', fieldsV1 };
  };
  const withOwn = (entry: { fieldsV1: object }) => ({
    ...entry,
    fieldsV1: { ...entry.fieldsV1, 'f:metadata': { 'f:annotations': { 'f:sync.io/requested-ref': {} } } },
  });
  const owners = ({ replaced = specOwner, added = [] }: { replaced?: object; added?: object | object[] }) => [
    ...ownersOf(before).map((entry) => (entry === specOwner ? replaced : entry)),
    ...[added].flat(),
  ];
  const sync = { apiVersion: 'sync.io/v1alpha1', kind: 'GatewaySync', metadata: { name: 'defended', namespace } };
  const owned = (changes: Parameters<typeof owners>[0]) => () => metadata({ managedFields: owners(changes) });
  const only = (entry: object) => () => metadata({ managedFields: [{ ...specOwner, ...entry }] });
  const annotations = (values: Record<string, string | null> | null) => () => metadata({ annotations: values });
  await assertAllRefused({
    spec: () => client.mergePatch(path, { spec: { paused: true } }),
    'a field of the spec taken out': () => jsonPatch({ op: 'remove', path: '/spec/git/ref' }),
    status: () =>
      // The API server drops it from a patch.
      client.mergePatch(path, { status: { refResolutionStatus: 'Resolved' } }).then(async () => {
        assert.deepEqual((await stored()).status, before.status);
        throw new ApiError(403, '');
      }),
    'the status subresource': () =>
      client.mergePatch(`${path}/status`, { status: { refResolutionStatus: 'Resolved' } }),
    'a new label': () => metadata({ labels: { c: 'd' } }),
    'a changed label': () => metadata({ labels: { a: 'c' } }),
    'no labels': () => metadata({ labels: null }),
    'a finalizer': () => metadata({ finalizers: ['example.test/hold'] }),
    'an owner': () => metadata({ ownerReferences: [owner] }),
    'no managedFields': () => metadata({ managedFields: [{}] }),
    'the spec owned by another manager': only({ manager: 'other' }),
    'the spec owned since another time': only({ time: '2100-01-01T00:00:00Z' }),
    'the spec owned by no manager': only({ fieldsV1: { 'f:metadata': {} } }),
    'the spec owned by a subresource': owned({ replaced: { ...specOwner, subresource: 'status' } }),
    'an annotation of another manager owned by a third': owned({ added: ownerOf('flux', 'Apply') }),
    'an annotation of its own owned by another manager': owned({ replaced: withOwn(specOwner) }),
    'an annotation of its own owned since the future': owned({
      added: ownerOf('sync-receiver', 'Update', 'sync.io/requested-at'),
    }),
    'so many owners that the API server joins the oldest': owned({
      added: Array.from({ length: 12 }, (_, n) => ownerOf(`m${n}`, 'Update')),
    }),
    'an annotation of its own in the name of who owns the spec': () =>
      client.mergePatch(
        path,
        { metadata: { annotations: { 'sync.io/requested-ref': 'v1' } } },
        { query: { fieldManager: specOwner.manager } },
      ),
    'a generateName': () => metadata({ generateName: 'x' }),
    'the spec owned by all, unchanged': () => apply(client, path, { ...sync, spec: before.spec }),
    'an annotation added': annotations({ 'example.test/new': 'x' }),
    'an annotation changed': annotations({ 'example.test/kept': 'no' }),
    'an annotation removed': annotations({ 'example.test/kept': null }),
    'all annotations removed': annotations(null),
    'an annotation removed by JSON patch': () => jsonPatch({ op: 'remove', path: kept }),
    'an annotation beside its own': annotations({ 'sync.io/requested-ref': 'v1', 'sync.io/other': 'x' }),
    'an empty value': annotations({ 'sync.io/requested-ref': '' }),
    ...Object.fromEntries(
      [...Object.values(ROLLOUT_ANNOTATIONS), INSPECT_ANNOTATION].map((name) => [name, annotations({ [name]: 'x' })]),
    ),
    'a long value': annotations({ 'sync.io/requested-ref': 'x'.repeat(301) }),
    'a time that is none': annotations({ 'sync.io/requested-at': 'now' }),
  });
  assert.deepEqual(await stored(), before);
});

test("if a resource has many field owners, the receiver's credentials can merge only the oldest, and change no field", async () => {
  const { client } = rights;
  const { path, patch, stored } = await createResource('owned');
  const second = () => Math.floor(Date.now() / 1_000);
  for (let n = 0; n < 10; n += 1) {
    const began = second();
    // The oldest owners, which the API server joins, then own the spec, and are older than the others.
    if (n === 0 || n === 2) await until(() => second(), { describe: 'another second', accept: (now) => now > began });
    await patch({ spec: { history: n + 5 } }, `manager-${n}`);
    await patch({ metadata: { annotations: { [`example.test/by-${n}`]: 'yes' } } }, `manager-${n}`);
  }
  const managedFields = ownersOf(await stored());
  const newest = managedFields.find(({ manager }) => manager === 'manager-9');
  assert.ok(newest);
  const others = managedFields.filter((entry) => entry !== newest);
  const oldest = { ...newest, manager: 'ancient-changes' };
  const annotations = { 'sync.io/requested-ref': 'v1' };
  const write = (entries: object[]) =>
    client.mergePatch(
      path,
      { metadata: { annotations, managedFields: entries } },
      { query: { fieldManager: 'sync-receiver', dryRun: 'All' } },
    );
  await assertAllRefused({
    'the newest gone': () => write(others),
    'the newest joined': () => write([...others, oldest]),
    'the oldest own more': () => write([...managedFields, { ...oldest, fieldsV1: { 'f:spec': { 'f:history': {} } } }]),
    'all but one gone': () => write([newest]),
  });
  await write(managedFields);
});

test("the receiver's credentials can't join the owners of the spec by writing in the names of many managers", async () => {
  const { client } = rights;
  const { path, patch, stored } = await createResource('impersonated');
  for (const [index, manager] of ['kubectl-edit', 'kubectl-patch', 'helm'].entries())
    await patch({ spec: { history: index + 5 }, metadata: { labels: { [manager]: 'yes' } } }, manager);
  const isOfSpec = ({ fieldsV1 }: FieldOwner) => 'f:spec' in fieldsV1;
  const before = ownersOf(await stored()).filter(isOfSpec);
  const { requestedAt, pushedAt, requestedRepo, pushedRepo } = REQUEST_ANNOTATIONS;
  const time = new Date().toISOString();
  const values: Record<string, string> = {
    [requestedAt]: time,
    [pushedAt]: time,
    [requestedRepo]: '-',
    [pushedRepo]: '-',
  };
  for (const [index, name] of Object.values(REQUEST_ANNOTATIONS).entries()) {
    const query = { fieldManager: `manager-${index}` };
    const annotations = { [name]: values[name] ?? 'x' };
    assert.match(await verdict(client.mergePatch(path, { metadata: { annotations } }, { query })), /^(403|422)$/, name);
  }
  assert.deepEqual(ownersOf(await stored()).filter(isOfSpec), before);
});

test('deliveries are stored even if a resource has so many field owners that the API server merges the oldest', async (t) => {
  const { namespace, kubeconfig } = rights;
  const { patch, stored } = await createResource('crowded');
  const second = () => Math.floor(Date.now() / 1_000);
  for (let n = 0; n < 12; n += 1) {
    // The first that the delivery makes one too many is of another time than those that are joined before.
    const began = second();
    if (n === 3) await until(() => second(), { describe: 'another second', accept: (now) => now > began });
    const annotations = { [`example.test/by-${n}`]: 'yes', 'sync.io/pushed-ref': 'x' };
    await patch({ metadata: { annotations } }, `manager-${n}`);
    await patch({ spec: { history: n + 5 } }, `manager-${n}`);
  }
  const receiver = await startReceiver(t, kubeconfig);
  assert.equal((await receiver.post(`${namespace}/crowded`, { ref: 'v1' })).status, 202);
  assert.equal((await receiver.post(`${namespace}/crowded`, { ref: 'refs/heads/main' })).status, 202);
  assert.ok(ownersOf(await stored()).some(({ manager }) => manager === 'ancient-changes'));
});

test('the policy applies only to the receiver', async () => {
  const { patch, stored } = await createResource('annotated');
  await patch({ metadata: { annotations: { 'example.test/by': 'a-person', 'sync.io/requested-ref': 'v9' } } });
  assert.equal((await stored()).metadata.annotations?.['sync.io/requested-ref'], 'v9');
});
