import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import {
  groupByResource,
  groupWorkloads,
  MissingGateways,
  type MissingGatewaysOptions,
} from '../../../../controller/missing-sidecars/missing-gateways.ts';
import type { UnmadePods } from '../../../../controller/missing-sidecars/unmade-pods.ts';
import type { ObservedGatewaySync } from '../../../../controller/watch/observed-gateway-sync.ts';
import type { ObservedPod } from '../../../../controller/watch/observed-pod.ts';
import { ApiError } from '../../../../shared/io/kubernetes/api-error.ts';
import type { ApiRequest } from '../../../../shared/io/kubernetes/client.ts';
import { assertLinear } from '../../../support/assert-linear.ts';
import { clientWith } from '../../../support/client-with.ts';
import { until } from '../../../support/until.ts';

const podOf = (name: string, crName?: string) => ({ namespace: 'ns', name, uid: name, crName }) as ObservedPod;

const gatewaySync = { namespace: 'ns', name: 'app', createdAt: Date.now(), spec: {} } as ObservedGatewaySync;
const options: MissingGatewaysOptions = {
  client: clientWith({}),
  caches: { gatewaySyncs: () => [gatewaySync], gatewaySync: () => gatewaySync, pods: () => [], pod: () => undefined },
  enqueue: () => {},
  log: pino({ level: 'silent' }),
};

suite('pods without their sidecar', () => {
  test('belong to the resource that they name, or to the only one', () => {
    const pods = [podOf('a', 'app'), podOf('b'), podOf('c', 'gone')];
    const namesOf = (resources: string[]) =>
      [...groupByResource(resources, pods)].map(([resource, own]) => [resource, own.map(({ name }) => name).join()]);
    assert.deepEqual(namesOf(['app']), [['app', 'a,b']]);
    assert.deepEqual(namesOf(['app', 'other']), [
      ['app', 'a'],
      ['other', ''],
    ]);
  });

  test('are no longer searched for after a stop, even if the API server is silent', async () => {
    const asked = Promise.withResolvers<void>();
    const warnings = [] as string[];
    const stream = ({ signal }: ApiRequest) => {
      asked.resolve();
      return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
    };
    const log = pino({ level: 'warn' }, { write: (line: string) => warnings.push(line) });
    const sweep = new MissingGateways({ ...options, client: clientWith({ stream }), log, periodMs: 1 });
    const stopping = new AbortController();
    const running = sweep.run(stopping.signal).then(() => 'ended');
    await asked.promise;
    stopping.abort();
    assert.equal(await Promise.race([running, sleep(5_000, 'goes on', { ref: false })]), 'ended');
    assert.deepEqual(warnings, []);
  });

  test('are matched in time proportional to their number and that of the resources', () => {
    const make = (size: number) => ({
      resources: Array.from({ length: size }, (_, index) => `gw-${index}`),
      pods: Array.from({ length: 2 * size }, (_, index) => podOf(`pod-${index}`, `gw-${index % size}`)),
    });
    assertLinear(2_000, make, ({ resources, pods }) => {
      assert.equal(groupByResource(resources, pods).get('gw-0')?.length, 2);
    });
  });
});

suite('workloads that lack pods', () => {
  const workload = (crName: string | undefined, description: string) => ({ crName, description });
  const grouped = (resources: string[], workloads: UnmadePods[]) =>
    [...groupWorkloads(resources, workloads)].map(([name, own]) => [name, own.map(({ description }) => description)]);

  test('count for the resource that they name, and for all if they name none of the namespace', () => {
    const workloads = [workload('app', 'a'), workload(undefined, 'b'), workload('typo', 'c'), workload('other', 'd')];
    assert.deepEqual(grouped(['app', 'other'], workloads), [
      ['app', ['a', 'b', 'c']],
      ['other', ['d', 'b', 'c']],
    ]);
    assert.deepEqual(grouped(['app'], [workload('typo', 'c')]), [['app', ['c']]]);
  });

  const template = { metadata: { annotations: { 'sync.io/inject': 'true' } } };
  const items = [{ metadata: { name: 'gateway' }, spec: { replicas: 1, template } }];
  test('are still known after a list that fails', async () => {
    const stopping = new AbortController();
    let rounds = 0;
    let isFailing = false;
    const found: string[][] = [];
    const chunks = async function* ({ path }: ApiRequest) {
      const isReplicaSets = path.endsWith('/replicasets');
      if (path.endsWith('/pods')) rounds += 1;
      if (isReplicaSets && isFailing) throw new Error('reset');
      yield Buffer.from(JSON.stringify({ metadata: { resourceVersion: '1' }, items: isReplicaSets ? items : [] }));
    };
    const enqueue = () => {
      found.push(missing.unmadeOf('ns/app'));
      isFailing = true;
    };
    const client = clientWith({ chunks });
    const missing: MissingGateways = new MissingGateways({ ...options, client, enqueue, periodMs: 1 });
    const running = missing.run(stopping.signal);
    await until(() => rounds >= 3, { describe: 'a sweep after the failed one' });
    assert.deepEqual(missing.unmadeOf('ns/app'), ['ReplicaSet gateway']);
    assert.deepEqual(found, [['ReplicaSet gateway']]);
    stopping.abort();
    await running;
  });

  for (const [forbidden, status] of [
    ['replicasets', 403],
    ['jobs', 403],
    ['jobs', 500],
  ] as const)
    test(`are known even if ${forbidden} can't be listed at first (${status})`, async () => {
      const stopping = new AbortController();
      const chunks = async function* ({ path }: ApiRequest) {
        if (path.endsWith(`/${forbidden}`)) throw new ApiError(status, '');
        const wanted = forbidden === 'jobs' ? 'replicasets' : 'jobs';
        yield Buffer.from(
          JSON.stringify({ metadata: { resourceVersion: '1' }, items: path.endsWith(`/${wanted}`) ? items : [] }),
        );
      };
      const missing = new MissingGateways({ ...options, client: clientWith({ chunks }) });
      const running = missing.run(stopping.signal);
      await missing.searchFirst('ns/app');
      assert.deepEqual(missing.unmadeOf('ns/app'), [forbidden === 'jobs' ? 'ReplicaSet gateway' : 'Job gateway']);
      stopping.abort();
      await running;
    });

  test('are searched for again after a first search that fails, because the fleet could be wrongly ready', async () => {
    const stopping = new AbortController();
    const unavailable = new ApiError(503, '');
    let isUp = false;
    const versions = new Set<unknown>();
    const chunks = async function* ({ path, query }: ApiRequest) {
      if (!isUp) throw unavailable;
      versions.add(query?.resourceVersion);
      const found = path.endsWith('/replicasets') ? items : [];
      yield Buffer.from(JSON.stringify({ metadata: { resourceVersion: '1' }, items: found }));
    };
    const missing = new MissingGateways({ ...options, client: clientWith({ chunks }) });
    const running = missing.run(stopping.signal);
    await assert.rejects(missing.searchFirst('ns/app'), unavailable);
    isUp = true;
    assert.equal(await missing.searchFirst('ns/app'), true);
    assert.deepEqual(missing.unmadeOf('ns/app'), ['ReplicaSet gateway']);
    assert.deepEqual([...versions], ['0'], 'only lists from the cache of the API server');
    assert.equal(await missing.searchFirst('ns/app'), false);
    stopping.abort();
    await running;
  });
});
