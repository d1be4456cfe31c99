import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { suite, type TestContext, test } from 'node:test';
import { pino } from 'pino';
import { Caches } from '../../../../controller/watch/caches.ts';
import type { ObservedReport } from '../../../../controller/watch/observed-report.ts';
import type { Change } from '../../../../shared/io/kubernetes/reflector.ts';
import { clientOfServer } from '../../../support/client-of-server.ts';
import { until } from '../../../support/until.ts';

type Kind = 'gatewaysyncs' | 'pods' | 'syncreports';
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

/** An API server whose watches bring what the test says, in its order. */
async function arrange(t: TestContext, stored: Partial<Record<Kind, Stored>> = {}) {
  const watches = new Map<Kind, ServerResponse>();
  const asked: string[] = [];
  const podsMayCome = Promise.withResolvers<void>();
  const client = await clientOfServer(t, async ({ url = '' }, response) => {
    const { pathname, searchParams } = new URL(url, 'http://api.test');
    const kind = pathname.split('/').at(-1) as Kind;
    response.writeHead(200, { 'Content-Type': 'application/json' });
    if (searchParams.has('watch')) {
      response.flushHeaders();
      watches.set(kind, response);
      return;
    }
    if (kind === 'pods') await podsMayCome.promise;
    asked.push(searchParams.has('fieldSelector') ? `${kind} ${searchParams.get('fieldSelector')}` : kind);
    response.end(JSON.stringify({ metadata: { resourceVersion: '1' }, items: [stored[kind] ?? []].flat() }));
  });
  const changes: Change<ObservedReport>[] = [];
  const nothing = () => {};
  const listeners = { onGatewaySync: nothing, onPod: nothing, onRoleBinding: nothing };
  const caches = new Caches(
    { client, namespaces: [], roleBindings: false, log: pino({ level: 'silent' }) },
    { ...listeners, onReport: (change) => changes.push(change) },
  );
  const stopping = new AbortController();
  const running = caches.run(stopping.signal);
  t.after(async () => {
    stopping.abort();
    await running;
  });
  const send = (kind: Kind, type: 'ADDED' | 'MODIFIED' | 'DELETED', object: Stored) =>
    watches.get(kind)?.write(`${JSON.stringify({ type, object })}\n`);
  const untilWatched = () => until(() => watches.size, { describe: 'three watches', accept: (count) => count === 3 });
  return { caches, changes, asked, stored, podsMayCome, send, untilWatched };
}

const messageOf = (caches: Caches) => caches.report(KEY)?.status?.message;

suite('a report', () => {
  test('is listed after the pods, and kept', async (t) => {
    const { caches, asked, podsMayCome } = await arrange(t, { pods: pod('u'), syncreports: report('u', 'listed') });
    await until(() => asked, { describe: 'the resources', accept: (all) => all.includes('gatewaysyncs') });
    assert.deepEqual(asked, ['gatewaysyncs']);
    podsMayCome.resolve();
    await caches.firstSync();
    assert.deepEqual(asked, ['gatewaysyncs', 'pods', 'syncreports']);
    assert.equal(messageOf(caches), 'listed');
  });

  test('that comes before its pod is read again, and its pod’s resource hears of it', async (t) => {
    const { caches, changes, asked, stored, podsMayCome, send, untilWatched } = await arrange(t);
    podsMayCome.resolve();
    await untilWatched();
    send('syncreports', 'ADDED', report('u', 'early'));
    await until(() => caches.report(KEY), { describe: 'the report', accept: Boolean });
    assert.deepEqual(caches.report(KEY), { podUID: 'u', status: undefined, isLeftOut: true });
    stored.syncreports = report('u', 'early');
    send('pods', 'ADDED', pod('u'));
    await until(() => messageOf(caches), { describe: 'what it says', accept: (message) => message === 'early' });
    assert.equal(asked.at(-1), 'syncreports metadata.name=gateway-0');
    assert.deepEqual(
      changes.map(({ type, key, previous }) => [type, key, previous?.isLeftOut]),
      [
        ['upserted', KEY, undefined],
        ['upserted', KEY, true],
      ],
    );
  });

  test('goes with its pod, and is not that of the next one of the name', async (t) => {
    const world = { pods: pod('u'), syncreports: report('u', 'mine') };
    const { caches, asked, podsMayCome, send, untilWatched } = await arrange(t, world);
    podsMayCome.resolve();
    await untilWatched();
    const leftOut = { podUID: 'u', status: undefined, isLeftOut: true };
    for (const [type, uid] of [
      ['DELETED', 'u'],
      ['ADDED', 'next'],
    ] as const) {
      send('pods', type, pod(uid));
      const isThere = type === 'ADDED';
      await until(() => caches.pod(KEY), { describe: type, accept: (known) => Boolean(known) === isThere });
      assert.deepEqual(caches.report(KEY), leftOut);
    }
    send('syncreports', 'MODIFIED', report('next', 'its own'));
    await until(() => messageOf(caches), { describe: 'the next one', accept: (message) => message === 'its own' });
    assert.deepEqual(asked.slice(2), ['syncreports'], 'nothing is read again');
  });
});
