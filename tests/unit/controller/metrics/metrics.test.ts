import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { createMetrics, sampleResources } from '../../../../controller/metrics/metrics.ts';
import { projectGatewaySync } from '../../../../controller/watch/observed-gateway-sync.ts';
import type { GatewaySync } from '../../../../shared/api/gateway-sync.ts';

const resource = (name: string, ready: 'True' | 'False') =>
  projectGatewaySync({
    metadata: { namespace: 'a', name, uid: name, resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: {},
    status: {
      conditions: ['RefResolved', 'Ready'].map((type) => ({
        type,
        status: type === 'Ready' ? ready : 'True',
        reason: ready === 'True' ? 'Synced' : 'GatewaysFailed',
        message: '',
        lastTransitionTime: '2026-01-01T00:00:00Z',
        observedGeneration: 1,
      })),
    },
  } as unknown as GatewaySync);

const valuesOf = async (gauge: { get: () => Promise<{ values: { labels: object; value: number }[] }> }) =>
  (await gauge.get()).values.map(({ labels, value }) => [...Object.values(labels), value].join(' ')).sort();

suite('the gauges of resources', () => {
  test('count them by condition, and say of each whether it is ready', async () => {
    const metrics = createMetrics();
    sampleResources(metrics, [resource('one', 'True'), resource('two', 'False'), resource('three', 'False')]);
    assert.deepEqual(await valuesOf(metrics.conditions), ['Ready False 2', 'Ready True 1', 'RefResolved True 3']);
    assert.deepEqual(await valuesOf(metrics.ready), [
      'a one Synced 1',
      'a three GatewaysFailed 0',
      'a two GatewaysFailed 0',
    ]);
  });

  test('forget those that are gone', async () => {
    const metrics = createMetrics();
    sampleResources(metrics, [resource('one', 'True'), resource('two', 'False')]);
    sampleResources(metrics, [resource('one', 'True')]);
    assert.deepEqual(await valuesOf(metrics.conditions), ['Ready True 1', 'RefResolved True 1']);
    assert.deepEqual(await valuesOf(metrics.ready), ['a one Synced 1']);
  });
});
