import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { suite, type TestContext, test } from 'node:test';
import { pino } from 'pino';
import { Caches } from '../../../../controller/watch/caches.ts';
import { clientOfServer } from '../../../support/client-of-server.ts';
import { until } from '../../../support/until.ts';

type Kind = 'gatewaysyncs' | 'pods' | 'syncreleases' | 'syncreports';
type Stored = ReturnType<typeof pod> | ReturnType<typeof report>;

const KEY = 'ns/gateway-0';
const named = { namespace: 'ns', name: 'gateway-0', resourceVersion: '2', creationTimestamp: '2026-01-01T00:00:00Z' };

const pod = (uid: string) => ({
  metadata: { ...named, uid, annotations: { 'sync.io/cr-name': 'app' } },
  spec: { initContainers: [{ name: 'sync-agent' }] },
});

const report = (podUID: string, message: string) => ({
  metadata: { ...named, ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'gateway-0', uid: podUID }] },
  status: { state: 'Synced', message },
});

/** An API server whose watches deliver the events of the test, in order. */
async function arrange(t: TestContext, stored: Partial<Record<Kind, Stored>> = {}) {
  const watches = new Map<Kind, ServerResponse>();
  const client = await clientOfServer(t, ({ url = '' }, response) => {
    const { pathname, searchParams } = new URL(url, 'http://api.test');
    const kind = pathname.split('/').at(-1) as Kind;
    response.writeHead(200, { 'Content-Type': 'application/json' });
    if (searchParams.has('watch')) {
      response.flushHeaders();
      watches.set(kind, response);
      return;
    }
    response.end(JSON.stringify({ metadata: { resourceVersion: '1' }, items: [stored[kind] ?? []].flat() }));
  });
  const ignore = () => {};
  const listeners = {
    onGatewaySync: ignore,
    onPod: ignore,
    onRelease: ignore,
    onRoleBinding: ignore,
    onReport: ignore,
  };
  const caches = new Caches(
    { client, namespaces: [], roleBindings: false, log: pino({ level: 'silent' }), serverTime: Date.now },
    listeners,
  );
  const stopping = new AbortController();
  const running = caches.run(stopping.signal);
  t.after(async () => {
    stopping.abort();
    await running;
  });
  const send = (kind: Kind, type: 'ADDED' | 'MODIFIED' | 'DELETED', object: Stored) =>
    watches.get(kind)?.write(`${JSON.stringify({ type, object })}\n`);
  const untilWatched = () => until(() => watches.size, { describe: 'four watches', accept: (count) => count === 4 });
  return { caches, send, untilWatched };
}

const withName = <T extends Stored>(object: T, name: string): T => ({
  ...object,
  metadata: { ...object.metadata, name },
});

const messageOf = (caches: Caches) => caches.report(KEY)?.status?.message;

suite('the report of a pod', () => {
  test('is listed and kept', async (t) => {
    const { caches } = await arrange(t, { pods: pod('u'), syncreports: report('u', 'listed') });
    await caches.firstSync();
    assert.equal(messageOf(caches), 'listed');
  });

  test('counts as soon as its pod exists, if it comes first', async (t) => {
    const { caches, send, untilWatched } = await arrange(t);
    await untilWatched();
    send('syncreports', 'ADDED', report('u', 'early'));
    await until(() => caches.report(KEY), { describe: 'the report', accept: Boolean });
    send('pods', 'ADDED', pod('u'));
    await until(() => caches.pod(KEY), { describe: 'the pod', accept: Boolean });
    assert.equal(messageOf(caches), 'early');
  });

  test('counts even if hundreds of a namespace come before their pods', async (t) => {
    const { caches, send, untilWatched } = await arrange(t);
    await untilWatched();
    const named = Array.from({ length: 600 }, (_, index) => `gateway-${index}`);
    for (const name of named) send('syncreports', 'ADDED', withName(report('u', 'early'), name));
    await until(() => caches.report('ns/gateway-599'), { describe: 'the last report', accept: Boolean });
    for (const name of named) send('pods', 'ADDED', withName(pod('u'), name));
    await until(() => caches.pod('ns/gateway-599'), { describe: 'the last pod', accept: Boolean });
    assert.ok(named.every((name) => caches.report(`ns/${name}`)?.status));
  });

  test("isn't used for the next pod of the same name", async (t) => {
    const world = { pods: pod('u'), syncreports: report('u', 'mine') };
    const { caches, send, untilWatched } = await arrange(t, world);
    await untilWatched();
    send('pods', 'DELETED', pod('u'));
    send('pods', 'ADDED', pod('next'));
    await until(() => caches.pod(KEY)?.uid, { describe: 'the next pod', accept: (uid) => uid === 'next' });
    assert.equal(caches.report(KEY)?.podUID, 'u');
    const next = caches.pod(KEY);
    assert.equal(next && caches.reportOf(next), undefined);
    send('syncreports', 'MODIFIED', report('next', 'its own'));
    await until(() => messageOf(caches), { describe: 'the next one', accept: (message) => message === 'its own' });
    assert.equal(next && caches.reportOf(next)?.podUID, 'next');
  });
});
