import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { createMetrics } from '../../../../controller/metrics/metrics.ts';
import { renderResources, type SampledResource } from '../../../../controller/metrics/resource-metrics.ts';
import { projectGatewaySync } from '../../../../controller/watch/observed-gateway-sync.ts';
import type { GatewayCounts } from '../../../../shared/api/gateway-sync-status.ts';
import { gatewaySyncOf } from '../../../support/objects.ts';

const resource = (name: string, ready: 'True' | 'False') =>
  projectGatewaySync(
    gatewaySyncOf({
      metadata: { namespace: 'a', name, uid: name, resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' },
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
    }),
    undefined,
    0,
  );

const seriesOf = async (resources: SampledResource[]) =>
  (await renderResources(resources))
    .toString()
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));

test('the controller exports outcome series before the first event, so that Prometheus sees each increase', async () => {
  const page = (await createMetrics().registry.metrics()).split('\n');
  const linesOf = (name: string, ...outcomes: string[]) => outcomes.map((outcome) => `${name}{outcome="${outcome}"} 0`);
  for (const line of [
    ...linesOf('sync_controller_reconciles_total', 'success', 'failure'),
    ...linesOf('sync_controller_git_queries_total', 'success', 'failure'),
    ...linesOf('sync_controller_commit_statuses_total', 'success', 'failure', 'refused'),
    ...linesOf('sync_controller_admission_reviews_total', 'failed'),
  ])
    assert.ok(page.includes(line), line);
  assert.ok(page.some((line) => line.startsWith('process_')));
});

suite('the series about resources', () => {
  test('count them by condition, and show readiness and gateways of each', async () => {
    const gateways = { summary: '1/2 synced', total: 2, synced: 1, pending: 1, error: 0 } as GatewayCounts;
    const three = resource('three', 'False');
    three.status = { ...three.status, gateways };
    three.spec = { ...three.spec, paused: true };
    const ready = (name: string, ...values: number[]) =>
      ['True', 'False', 'Unknown'].map(
        (status, index) =>
          `sync_controller_gatewaysync_condition{namespace="a",name="${name}",type="Ready",status="${status}"} ${values[index]}`,
      );
    assert.deepEqual(await seriesOf([resource('one', 'True'), resource('two', 'False'), three]), [
      'sync_controller_conditions{type="RefResolved",status="True"} 3',
      'sync_controller_conditions{type="Ready",status="True"} 1',
      'sync_controller_conditions{type="Ready",status="False"} 2',
      ...ready('one', 1, 0, 0),
      ...ready('two', 0, 1, 0),
      ...ready('three', 0, 1, 0),
      'sync_controller_gatewaysync_paused{namespace="a",name="one"} 0',
      'sync_controller_gatewaysync_paused{namespace="a",name="two"} 0',
      'sync_controller_gatewaysync_paused{namespace="a",name="three"} 1',
      'sync_controller_gateways{namespace="a",name="three",state="synced"} 1',
      'sync_controller_gateways{namespace="a",name="three",state="pending"} 1',
    ]);
  });

  test('list gateways with wrong clocks', async () => {
    const one = resource('one', 'True');
    const gateway = { name: 'g', namespace: 'a', syncStatus: 'Synced' as const };
    const discoveredGateways = [
      { ...gateway, podName: 'right' },
      { ...gateway, podName: 'ahead', clockSkew: 1_200 },
      { ...gateway, podName: 'behind', clockSkew: -1_200 },
    ];
    one.status = { ...one.status, discoveredGateways };
    assert.deepEqual(
      (await seriesOf([one])).filter((line) => line.includes('clock')),
      [
        'sync_controller_gateway_clock_skew_seconds{namespace="a",name="one",pod="ahead"} 1200',
        'sync_controller_gateway_clock_skew_seconds{namespace="a",name="one",pod="behind"} -1200',
      ],
    );
  });

  test('show the progress of a rollout, if there is one', async () => {
    const rolledOut = resource('one', 'True');
    const rollout = { phase: 'Stopped', waitsFor: 'Approval', failed: 2 } as SampledResource['status']['rollout'];
    rolledOut.status = { ...rolledOut.status, rollout };
    const series = await seriesOf([rolledOut, resource('two', 'True')]);
    assert.deepEqual(
      series.filter((line) => line.includes('rollout')),
      [
        'sync_controller_rollout_phase{namespace="a",name="one",phase="Stopped"} 1',
        'sync_controller_rollout_waiting{namespace="a",name="one",reason="Approval"} 1',
        'sync_controller_rollout_failed_gateways{namespace="a",name="one"} 2',
      ],
    );
  });

  test('survive any content of a status', async () => {
    const odd = resource('one', 'True');
    for (const condition of odd.status.conditions ?? []) condition.type = 'a"b\\c\nd';
    assert.equal((await seriesOf([odd]))[0], 'sync_controller_conditions{type="a\\"b\\\\c\\nd",status="True"} 2');
  });

  test('yield to other tasks while thousands are written', async () => {
    const many = Array.from({ length: 2_000 }, (_, n) => resource(`r${n}`, 'True'));
    let turns = 0;
    const count = () => {
      turns += 1;
      next = setImmediate(count);
    };
    let next = setImmediate(count);
    const series = await seriesOf(many);
    clearImmediate(next);
    assert.equal(series.length, 8_002);
    assert.ok(turns >= 7, `${turns} turns`);
  });
});
