import assert from 'node:assert/strict';
import { cp, rm } from 'node:fs/promises';
import path from 'node:path';
import { after, before, suite, type TestContext, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { pino } from 'pino';
import type { ServerDetails } from '../../../scripts/testbed/call-api.ts';
import { callApi } from '../../../scripts/testbed/call-api.ts';
import { clientOf } from '../../../scripts/testbed/client-of.ts';
import { type ApiServer, startApiServer } from '../../../scripts/testbed/control-plane.ts';
import type { ObjectMeta } from '../../../shared/api/object-meta.ts';
import type { KubernetesClient } from '../../../shared/io/kubernetes/client.ts';
import { type Change, Reflector } from '../../../shared/io/kubernetes/reflector.ts';
import { corePath } from '../../../shared/io/kubernetes/resource-path.ts';
import { connectCluster, createNamespace } from '../../support/cluster.ts';
import { slow } from '../../support/depth.ts';
import { startSlowLink } from '../../support/slow-link.ts';
import { until } from '../../support/until.ts';

interface ConfigMap {
  metadata: ObjectMeta;
  data?: Record<string, string>;
}

interface Mirror {
  reflector: Reflector<ConfigMap, string | undefined>;
  changes: Change<string | undefined>[];
  restarts: string[];
}

function mirror(
  t: TestContext,
  kubeconfig: string,
  namespace: string | undefined,
  {
    server,
    client,
    ...options
  }: { server?: string; client?: KubernetesClient; idleTimeoutMs?: number; labelSelector?: string } = {},
): Mirror {
  const changes: Mirror['changes'] = [];
  const restarts: string[] = [];
  const reflector = new Reflector<ConfigMap, string | undefined>({
    client: client ?? clientOf(kubeconfig, { userAgent: 'test' }, server),
    path: corePath('configmaps', namespace),
    labelSelector: 'app=test',
    pageSize: 3,
    ...options,
    project: ({ data }) => data?.value,
    onChange: (change) => changes.push(change),
    log: pino({ level: 'silent' }),
    onRestart: (reason) => restarts.push(reason),
  });
  const stopping = new AbortController();
  const running = reflector.run(stopping.signal);
  t.after(async () => {
    stopping.abort();
    await running;
  });
  return { reflector, changes, restarts };
}

const configMap = (namespace: string, name: string, value: string) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace, labels: { app: 'test' } },
  data: { value },
});

type Written = ReturnType<typeof configMap>;

const pathOf = ({ metadata: { namespace, name } }: Written) => corePath('configmaps', namespace, name);

const write = (server: ServerDetails, object: Written) =>
  callApi(server, {
    method: 'PATCH',
    path: pathOf(object),
    query: { fieldManager: 'test' },
    body: object,
    contentType: 'application/apply-patch+yaml',
  });

const remove = (server: ServerDetails, object: Written) => callApi(server, { method: 'DELETE', path: pathOf(object) });

const untilStore = ({ reflector }: Mirror, wanted: Record<string, string>) =>
  until(() => Object.fromEntries([...reflector.store].map(([key, value]) => [key.split('/')[1], value])), {
    describe: 'the store',
    accept: (store) => isDeepStrictEqual(store, wanted),
  });

suite('a reflector of a resource', () => {
  test('continues from its list to its watch without a gap, even in an empty cluster', async (t) => {
    const cluster = await connectCluster();
    const namespace = await createNamespace(t);
    const client = clientOf(cluster.kubeconfig, { userAgent: 'test' });
    const views = Array.from({ length: 40 }, () => mirror(t, cluster.kubeconfig, namespace, { client }));
    await Promise.all(views.map(({ reflector }) => reflector.firstSync));
    await write(cluster, configMap(namespace, 'first', 'x'));
    for (const view of views) await untilStore(view, { first: 'x' });
    assert.deepEqual(
      views.flatMap(({ restarts }) => restarts),
      [],
    );
  });

  test('lists all pages, then follows every change', async (t) => {
    const cluster = await connectCluster();
    const namespace = await createNamespace(t);
    const many = Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`many-${index}`, 'x']));
    for (const name of Object.keys(many)) await write(cluster, configMap(namespace, name, 'x'));
    const view = mirror(t, cluster.kubeconfig, namespace);
    await view.reflector.firstSync;
    await untilStore(view, many);
    await write(cluster, configMap(namespace, 'many-0', 'y'));
    await remove(cluster, configMap(namespace, 'many-1', 'x'));
    const { 'many-1': _, ...rest } = many;
    await untilStore(view, { ...rest, 'many-0': 'y' });
    const deleted = view.changes.filter(({ type }) => type === 'deleted');
    assert.deepEqual(deleted, [{ type: 'deleted', key: `${namespace}/many-1`, previous: 'x' }]);
  });

  test('detects a connection without any data', async (t) => {
    const cluster = await connectCluster();
    const namespace = await createNamespace(t);
    await write(cluster, configMap(namespace, 'a', '1'));
    const link = await startSlowLink(t, cluster.url);
    const view = mirror(t, cluster.kubeconfig, namespace, { server: link.url, idleTimeoutMs: 1_500 });
    await untilStore(view, { a: '1' });
    link.freeze();
    await write(cluster, configMap(namespace, 'a', '2'));
    await untilStore(view, { a: '2' });
    assert.ok(view.restarts.includes('error'));
  });

  test('resumes where it was after a broken connection, without another list', slow, async (t) => {
    const cluster = await connectCluster();
    const namespace = await createNamespace(t);
    for (const name of ['changes', 'goes', 'stays']) await write(cluster, configMap(namespace, name, '1'));
    const link = await startSlowLink(t, cluster.url);
    const view = mirror(t, cluster.kubeconfig, namespace, { server: link.url });
    await untilStore(view, { changes: '1', goes: '1', stays: '1' });
    view.changes.length = 0;
    for (const value of ['2', '3', '4']) {
      const before = view.restarts.length;
      link.refuse();
      await write(cluster, configMap(namespace, 'changes', value));
      if (value === '4') await remove(cluster, configMap(namespace, 'goes', '1'));
      await until(() => view.restarts.length > before, { describe: 'a failure' });
      link.accept();
      await untilStore(view, { changes: value, stays: '1', ...(value !== '4' && { goes: '1' }) });
    }
    assert.deepEqual(
      view.changes.map(({ type, key }) => `${type} ${key.split('/')[1]}`),
      ['upserted changes', 'upserted changes', 'upserted changes', 'deleted goes'],
    );
  });

  test('mirrors all namespaces and resumes where it was', async (t) => {
    const cluster = await connectCluster();
    const namespace = await createNamespace(t);
    await write(cluster, configMap(namespace, 'stays', '1'));
    const link = await startSlowLink(t, cluster.url);
    const view = mirror(t, cluster.kubeconfig, undefined, { server: link.url, labelSelector: `ns=${namespace}` });
    const object = configMap(namespace, 'last', '1');
    Object.assign(object.metadata.labels, { ns: namespace });
    await view.reflector.firstSync;
    await write(cluster, object);
    await untilStore(view, { last: '1' });
    link.refuse();
    await remove(cluster, object);
    await until(() => view.restarts.length > 0, { describe: 'a failure' });
    link.accept();
    await untilStore(view, {});
  });

  test('detects a connection that is cut, and one that is refused', async (t) => {
    const cluster = await connectCluster();
    const namespace = await createNamespace(t);
    await write(cluster, configMap(namespace, 'a', '1'));
    const link = await startSlowLink(t, cluster.url);
    const view = mirror(t, cluster.kubeconfig, namespace, { server: link.url });
    await untilStore(view, { a: '1' });
    link.refuse();
    await write(cluster, configMap(namespace, 'a', '2'));
    await until(() => view.restarts.length >= 2, { describe: 'two failures' });
    link.accept();
    await untilStore(view, { a: '2' });
  });
});

suite('a reflector of a resource of an API server that is stopped or restored', slow, () => {
  let cluster: ApiServer;
  before(async () => {
    cluster = await startApiServer();
    await until(() => write(cluster, configMap('default', 'first', '1')), { describe: 'the namespace default' });
  });
  after(() => cluster.stop());

  test('recovers, with the changes made in the meantime', async (t) => {
    const view = mirror(t, cluster.kubeconfig, 'default');
    await untilStore(view, { first: '1' });
    await cluster.stopApiServer();
    await until(() => view.restarts.length > 0, { describe: 'the end of the watch' });
    await cluster.startApiServer();
    await write(cluster, configMap('default', 'changed', '1'));
    await remove(cluster, configMap('default', 'first', '1'));
    await untilStore(view, { changed: '1' });
  });

  test('lists again if a backup has older versions', async (t) => {
    await write(cluster, configMap('default', 'changed', '1'));
    await write(cluster, configMap('default', 'removed', '1'));
    const backup = path.join(cluster.dir, 'backup');
    await cluster.restart((data) => cp(data, backup, { recursive: true }));
    const view = mirror(t, cluster.kubeconfig, 'default', { idleTimeoutMs: 1_500 });
    for (let value = 2; value < 50; value += 1) await write(cluster, configMap('default', 'changed', `${value}`));
    await remove(cluster, configMap('default', 'removed', '1'));
    await write(cluster, configMap('default', 'added', '1'));
    await untilStore(view, { changed: '49', added: '1' });
    await cluster.restart(async (data) => {
      await rm(data, { recursive: true });
      await cp(backup, data, { recursive: true });
    });
    await untilStore(view, { changed: '1', removed: '1' });
  });
});
