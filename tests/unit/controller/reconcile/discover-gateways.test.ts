import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { discoverGateways, listed } from '../../../../controller/reconcile/discover-gateways.ts';
import { projectGatewaySync } from '../../../../controller/watch/observed-gateway-sync.ts';
import type { ObservedPod } from '../../../../controller/watch/observed-pod.ts';
import type { SyncReportStatus } from '../../../../shared/api/sync-report.ts';
import { gatewaySyncOf } from '../../../support/objects.ts';

const wanted = 'a'.repeat(40);
const other = 'b'.repeat(40);

const pod: ObservedPod = {
  namespace: 'ns',
  name: 'gateway-0',
  uid: 'uid',
  crName: 'gw',
  gatewayName: 'edge',
  profile: 'default',
  serviceAccountName: 'gateway',
  sidecar: 'present',
  live: true,
};

interface Given {
  /** In the resource. */
  paused?: boolean;
  /** In the profile of the gateway. */
  profile?: { paused?: boolean; dryRun?: boolean };
}

function fleetOf(status: Partial<SyncReportStatus> | undefined, { paused = false, profile = {} }: Given = {}) {
  const report = { podUID: 'uid', status: status as SyncReportStatus | undefined };
  const mappings = [{ source: 'a', destination: 'b' }];
  const spec = { paused, sync: { profiles: { default: { mappings, ...profile } } } };
  const gatewaySync = projectGatewaySync(gatewaySyncOf({ metadata: { generation: 3 }, spec }));
  return discoverGateways({
    isLabelRequired: false,
    gatewaySync,
    pods: [pod],
    missing: [],
    reportOf: () => report,
    wantedOf: () => ({ commit: wanted }),
  });
}

suite("the reason why a pod doesn't start", () => {
  const waiting = 'container sync-agent waits: CrashLoopBackOff';
  const messageOf = (status: Partial<SyncReportStatus> | undefined) => {
    const report = {
      namespace: 'ns',
      name: 'gateway-0',
      podUID: 'uid',
      status: status as SyncReportStatus | undefined,
    };
    const gatewaySync = projectGatewaySync(gatewaySyncOf({ metadata: { generation: 3 } }));
    const pods = [{ ...pod, waiting }];
    return discoverGateways({
      isLabelRequired: false,
      gatewaySync,
      pods,
      missing: [],
      reportOf: () => report,
      wantedOf: () => ({ commit: wanted }),
    }).gateways[0]?.message;
  };

  test('is shown for a gateway without a report, and next to a report', () => {
    assert.equal(messageOf(undefined), waiting);
    assert.equal(messageOf({ state: 'Synced', commit: wanted }), waiting);
    assert.equal(
      messageOf({ state: 'Error', message: 'the data volume is full' }),
      `the data volume is full; ${waiting}`,
    );
  });

  test('fits into the status, and ends with a whole character', () => {
    const message = messageOf({ state: 'Error', message: `x${'😀'.repeat(600)}` }) ?? '';
    assert.equal(message.length, 1_024);
    assert.ok(message.isWellFormed());
  });
});

suite('a gateway is shown in its real state', () => {
  const paused = { profile: { paused: true } };
  const dryRun = { profile: { dryRun: true } };
  const cases: [name: string, status: Partial<SyncReportStatus> | undefined, shown: string, given?: Given][] = [
    ['synced', { state: 'Synced', commit: wanted }, 'Synced'],
    ['synced to another commit', { state: 'Synced', commit: other }, 'Skewed'],
    ['synced to a commit that it does not name', { state: 'Synced' }, 'Skewed'],
    ['paused, on the very commit', { state: 'Paused', commit: wanted }, 'Paused', paused],
    ['paused, on another', { state: 'Paused', commit: other }, 'Paused', paused],
    ['paused with the whole resource', { state: 'Paused', commit: other }, 'Paused', { paused: true }],
    ['paused until just now, on another commit', { state: 'Paused', commit: other }, 'Pending'],
    ['paused until just now, on the very commit', { state: 'Paused', commit: wanted }, 'Pending'],
    ['not aware of the pause yet', { state: 'Synced', commit: wanted }, 'Synced', paused],
    ['in a dry run, on the very commit', { state: 'DryRun', commit: wanted }, 'DryRun', dryRun],
    ['in a dry run until just now', { state: 'DryRun', commit: wanted }, 'Pending'],
    ['failed, with the very commit on disk', { state: 'Error', commit: wanted, message: 'x' }, 'Error'],
    ['waiting, with the very commit on disk', { state: 'Pending', commit: wanted }, 'Pending'],
    ['synced by the latest spec', { state: 'Synced', commit: wanted, generation: 3 }, 'Synced'],
    ['synced by an earlier spec', { state: 'Synced', commit: wanted, generation: 2 }, 'Pending'],
    [
      'synced by the spec of an earlier resource of the name',
      { state: 'Synced', commit: wanted, generation: 9 },
      'Pending',
    ],
    ['failed with an earlier spec', { state: 'Error', generation: 2, message: 'x' }, 'Pending'],
    ['failed with the latest spec', { state: 'Error', generation: 3, message: 'x' }, 'Error'],
    ['paused by an earlier spec', { state: 'Paused', commit: wanted, generation: 2 }, 'Pending', paused],
    ['silent', undefined, 'Pending'],
  ];
  for (const [name, status, shown, given] of cases) {
    test(`${name}: ${shown}`, () => {
      const { gateways, counts } = fleetOf(status, given);
      assert.equal(gateways[0]?.syncStatus, shown);
      assert.equal(gateways[0]?.message, status?.message);
      assert.equal(counts.synced, shown === 'Synced' ? 1 : 0);
      const { pending, error, missingSidecar, paused, dryRun, skewed, synced, total } = counts;
      assert.equal(pending + error + missingSidecar + paused + dryRun + skewed + synced, total);
    });
  }

  test('counts from a report never exceed the limits of the API server', () => {
    const files = { added: 2 ** 31 - 1, modified: 2 ** 31 - 1, deleted: 1, unchanged: 0 };
    assert.equal(fleetOf({ state: 'Synced', commit: wanted, files }).gateways[0]?.filesChanged, 2 ** 31 - 1);
  });
});

suite('the list of gateways', () => {
  const gatewaySync = projectGatewaySync(gatewaySyncOf({ metadata: { generation: 3 } }));
  const shown = { name: 'edge', namespace: 'ns', serviceAccountName: 'gateway', profile: 'default' };
  const files = { added: 1, modified: 2, deleted: 4, unchanged: 8 };
  const reported = {
    state: 'Synced' as const,
    commit: wanted,
    ref: 'main',
    time: 'then',
    duration: '1s',
    agentVersion: '1',
    files,
  };
  const discover = (
    pods: ObservedPod[],
    missing: ObservedPod[] = [],
    status: SyncReportStatus | undefined = reported,
  ) =>
    discoverGateways({
      isLabelRequired: false,
      gatewaySync,
      pods,
      missing,
      reportOf: () => ({ podUID: 'uid', status }),
      wantedOf: () => ({ commit: wanted }),
    });

  test("contains all living pods, by name, with their agents' reports", () => {
    const ended = { ...pod, name: 'gateway-9', live: false };
    const { gateways, counts } = discover([{ ...pod, name: 'gateway-1' }, ended, pod], [{ ...pod, name: 'a' }, ended]);
    const said = {
      syncStatus: 'Synced',
      syncedCommit: wanted,
      syncedRef: 'main',
      lastSyncTime: 'then',
      lastSyncDuration: '1s',
      agentVersion: '1',
      filesChanged: 7,
    };
    const message =
      'the pod was created while injection was not available; delete it so that its replacement gets the sidecar';
    assert.deepEqual(gateways, [
      { ...shown, podName: 'a', syncStatus: 'MissingSidecar', message },
      { ...shown, podName: 'gateway-0', ...said },
      { ...shown, podName: 'gateway-1', ...said },
    ]);
    assert.deepEqual(counts, {
      summary: '2/3 synced',
      total: 3,
      synced: 2,
      pending: 0,
      error: 0,
      missingSidecar: 1,
      paused: 0,
      dryRun: 0,
      skewed: 0,
    });
  });

  test('contains no more about a gateway than its agent reports', () => {
    assert.deepEqual(discover([pod], [], { state: 'Pending' }).gateways, [
      { ...shown, podName: 'gateway-0', syncStatus: 'Pending' },
    ]);
    const status = { state: 'Synced' as const, commit: wanted, files: {} as typeof files };
    assert.equal(discover([pod], [], status).gateways[0]?.filesChanged, 0);
  });

  test('has at most 200 entries', () => {
    const { gateways } = discover(Array.from({ length: 201 }, (_, index) => ({ ...pod, name: `${index}` })));
    assert.equal(gateways.length, 201);
    assert.equal(listed(gateways).length, 200);
    const broken = gateways.map((gateway, index) => ({
      ...gateway,
      ...(index >= gateways.length - 2 && { syncStatus: (['Error', 'MissingSidecar'] as const)[index % 2] ?? 'Error' }),
    }));
    const kept = listed(broken);
    assert.equal(kept.length, 200);
    assert.deepEqual(kept.slice(-2), broken.slice(-2));
    assert.deepEqual(kept.slice(0, 198), broken.slice(0, 198));
  });

  test('shows by how much a clock is wrong, and lists that gateway first', () => {
    const one = discoverGateways({
      isLabelRequired: false,
      gatewaySync,
      pods: [pod],
      missing: [],
      wantedOf: () => ({ commit: wanted }),
      reportOf: () => ({ podUID: 'uid', status: { state: 'Synced' as const, commit: wanted }, clockSkew: -90 }),
    });
    const { clockSkew, message } = one.gateways[0] ?? {};
    assert.deepEqual([clockSkew, message], [-90, "its clock is 1m30s behind the API server's"]);
    const many = Array.from({ length: 201 }, (_, index) => ({ ...pod, name: `${index}` }));
    const { gateways } = discover(many);
    const wrong = gateways.map((gateway, index) => (index === 200 ? { ...gateway, clockSkew: 60 } : gateway));
    assert.equal(listed(wrong).at(-1)?.clockSkew, 60);
  });

  test('is compared with the revision, if there is one', () => {
    const stateFor = (revision: string | undefined) =>
      discoverGateways({
        isLabelRequired: false,
        gatewaySync,
        pods: [pod],
        missing: [],
        reportOf: () => ({
          namespace: 'ns',
          name: 'x',
          podUID: 'uid',
          status: { ...reported, ...(revision && { revision }) },
        }),
        wantedOf: () => ({ commit: wanted, revision: 'r' }),
      }).gateways[0]?.syncStatus;
    assert.deepEqual([stateFor('r'), stateFor('q'), stateFor(undefined)], ['Synced', 'Skewed', 'Skewed']);
  });

  test('is right if the release leaves the files unchanged, according to a preview of exactly this one', () => {
    const plan = { commit: wanted, revision: 'r', digest: '', added: 0, modified: 0, deleted: 0 };
    const stateWith = (status: Partial<SyncReportStatus>) =>
      discoverGateways({
        isLabelRequired: false,
        gatewaySync,
        pods: [pod],
        missing: [],
        reportOf: () => ({ podUID: 'uid', status: { ...reported, commit: other, revision: 'q', ...status } }),
        wantedOf: () => ({ commit: wanted, revision: 'r' }),
      }).gateways[0]?.syncStatus;
    assert.equal(stateWith({ preview: plan, unchangedAt: wanted }), 'Synced');
    assert.equal(stateWith({ preview: plan }), 'Skewed');
    assert.equal(stateWith({ preview: { ...plan, revision: 'q' }, unchangedAt: wanted }), 'Skewed');
    assert.equal(stateWith({ preview: { ...plan, commit: other }, unchangedAt: other }), 'Skewed');
    assert.equal(stateWith({ state: 'Error', preview: plan, unchangedAt: wanted }), 'Error');
  });
});
