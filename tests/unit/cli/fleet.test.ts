import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { type Beyond, fleetView, resourceView } from '../../../cli/fleet/fleet.ts';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import type { Condition, DiscoveredGateway, GatewaySyncStatus } from '../../../shared/api/gateway-sync-status.ts';
import type { RolloutStatus } from '../../../shared/api/rollout.ts';
import type { SyncReport, SyncReportStatus } from '../../../shared/api/sync-report.ts';
import { planOf } from '../../../shared/domain/waves.ts';

const [NEW, OLD] = ['b'.repeat(40), 'a'.repeat(40)];
const revision = '1'.repeat(32);
const waves = [{ name: 'canary', selector: { matchLabels: { tier: 'canary' } } }];

const ready = (status: Condition['status'], reason: string, message = reason): Condition[] => [
  { type: 'Ready', status, reason, message, lastTransitionTime: '2026-01-01T00:00:00Z' },
];

function gatewaySync(status: GatewaySyncStatus | undefined, spec: object = {}): GatewaySync {
  return {
    metadata: { namespace: 'gateways', name: 'plant', generation: 3 },
    spec: { git: { repo: 'https://git.example/x', ref: 'main' }, ...spec },
    ...(status && { status: { observedGeneration: 3, ...status } }),
  } as unknown as GatewaySync;
}

const gateway = (name: string, state: Partial<DiscoveredGateway> = {}): DiscoveredGateway => ({
  ...{ name, namespace: 'gateways', podName: name, syncStatus: 'Synced', syncedCommit: OLD },
  ...state,
});

const words = (given: DiscoveredGateway, status: GatewaySyncStatus = {}, beyond: Beyond = {}, spec: object = {}) =>
  resourceView(
    gatewaySync({ conditions: ready('True', 'Synced'), discoveredGateways: [given], ...status }, spec),
    beyond,
  ).gateways[0]?.waitsFor;

suite('a GatewaySync in words', () => {
  const counts = (total: number, synced: number, other: object = {}) => ({
    ...{ summary: '', total, synced, pending: 0, error: 0, missingSidecar: 0, paused: 0, dryRun: 0, skewed: 0 },
    ...other,
  });
  const rows: [string, GatewaySync, state: string, says: RegExp][] = [
    ['nobody has looked at it', gatewaySync(undefined), 'busy', /the controller has not looked at it yet/],
    [
      'the latest change was not seen',
      gatewaySync({ observedGeneration: 2, conditions: ready('True', 'Synced') }),
      'busy',
      /has not seen the latest change of the spec yet/,
    ],
    [
      'all have it',
      gatewaySync({ conditions: ready('True', 'Synced'), gateways: counts(3, 3) }),
      'ready',
      /^all 3 gateways have it$/,
    ],
    [
      'some rest',
      gatewaySync({ conditions: ready('True', 'Synced'), gateways: counts(3, 1, { paused: 2 }) }),
      'ready',
      /^1 of 3 gateways have it, 2 paused$/,
    ],
    ['there is none', gatewaySync({ conditions: ready('True', 'NoGateways') }), 'ready', /no pod is annotated for it/],
    [
      'something failed',
      gatewaySync({ conditions: ready('False', 'RefNotFound', 'no such ref') }),
      'failed',
      /^no such ref$/,
    ],
    [
      'it is paused',
      gatewaySync({ conditions: ready('Unknown', 'Paused') }, { paused: true }),
      'paused',
      /nothing changes until kubectl gs resume/,
    ],
  ];
  for (const [what, given, state, says] of rows) {
    test(`where ${what}`, () => {
      const view = resourceView(given, {});
      assert.equal(view.state, state);
      assert.match(view.says, says);
    });
  }

  test('adds up what is shown', () => {
    const one = gatewaySync({ conditions: ready('True', 'Synced'), gateways: counts(3, 3) });
    const two = gatewaySync({ conditions: ready('False', 'GatewaysFailed'), gateways: counts(5, 1, { error: 4 }) });
    assert.deepEqual(fleetView([one, two], {}).totals, { resources: 2, ready: 1, gateways: 8, synced: 4 });
  });
});

suite('what a gateway waits for', () => {
  test('is what its agent says, or what its state means', () => {
    assert.equal(words(gateway('a')), undefined);
    assert.equal(words(gateway('a', { syncStatus: 'Error', message: 'the volume is full' })), 'the volume is full');
    assert.match(words({ ...gateway('a', { syncStatus: 'Pending' }) }) ?? '', /not reported on the latest change/);
    assert.match(words(gateway('a', { syncStatus: 'Paused' })) ?? '', /somebody has to resume it/);
    assert.match(
      words(gateway('a', { syncStatus: 'Skewed' }), { lastSyncCommit: NEW }) ?? '',
      /on its way to bbbbbbbb/,
    );
  });

  const rollout: RolloutStatus = {
    ...{ number: 7, phase: 'Progressing', wave: 'canary', summary: 'canary 0/1', startedAt: '2026-01-01T00:00:00Z' },
    ...{ commit: NEW, ref: 'main', revision, stableCommit: OLD, stableRef: 'main', stableRevision: revision },
    ...{ admitted: 1, verified: 0, failed: 0, total: 2, plan: planOf(waves) },
    admission: [
      { wave: 'canary', members: 'all', admitted: 'all' },
      { wave: 'rest', members: 'all', admitted: '' },
    ],
  };
  const pods = (tier?: string) => [
    { metadata: { name: 'a', namespace: 'gateways', uid: 'u', labels: tier ? { tier } : {} } },
  ];
  const report = (status: Partial<SyncReportStatus>, podUID = 'u') =>
    [
      { metadata: { name: 'a', namespace: 'gateways' }, status: { podUID, state: 'Synced', ...status } },
    ] as SyncReport[];
  const spec = { rollout: { waves } };
  const inRollout = (given: Partial<RolloutStatus>, beyond: Beyond) =>
    words(gateway('a'), { rollout: { ...rollout, ...given } }, beyond, spec);

  test('is its wave in a rollout, or its turn in it, or its verification', () => {
    assert.equal(inRollout({}, { pods: pods() }), 'its wave rest, which comes after canary');
    assert.equal(inRollout({ wave: 'rest' }, { pods: pods() }), 'its turn in the wave rest');
    assert.equal(inRollout({ phase: 'Stopped' }, { pods: pods() }), 'the rollout stopped: it stays on aaaaaaaa');
    const running = report({ commit: NEW, revision, rollout: 7, verification: 'Running' });
    assert.equal(inRollout({}, { pods: pods('canary'), reports: running }), 'it is being verified');
    assert.equal(inRollout({ phase: 'Complete' }, { pods: pods() }), undefined);
  });

  test('is not known of waves whose labels may not be read, which is no error', () => {
    assert.equal(inRollout({}, {}), undefined);
    const { rollout: view } = resourceView(gatewaySync({ rollout, discoveredGateways: [gateway('a')] }, spec), {});
    assert.deepEqual(view?.waves, [
      { name: 'canary', state: 'underWay' },
      { name: 'rest', state: 'waiting' },
    ]);
  });

  test('is not said by a report about another pod of the same name', () => {
    const look = (uid: string) =>
      resourceView(gatewaySync({ rollout, discoveredGateways: [gateway('a')] }, spec), {
        pods: pods('canary'),
        reports: report({ commit: NEW, revision, rollout: 7 }, uid),
      }).rollout?.waves[0]?.gateways?.[0]?.look;
    assert.equal(look('u'), 'new');
    assert.equal(look('another'), 'onItsWay');
  });
});
