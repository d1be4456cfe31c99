import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { discoverGateways, listed } from '../../../../../controller/reconcile/decide/discover-gateways.ts';
import { projectGatewaySync } from '../../../../../controller/watch/observed-gateway-sync.ts';
import type { ObservedPod } from '../../../../../controller/watch/observed-pod.ts';
import type { ObservedReport } from '../../../../../controller/watch/observed-report.ts';
import type { SyncReportStatus } from '../../../../../shared/api/sync-report.ts';
import { gatewaySyncOf, type SpecInput } from '../../../../support/objects.ts';
import { observedPod } from '../../support/observed-pod.ts';

const wanted = 'a'.repeat(40);
const other = 'b'.repeat(40);

const pod: ObservedPod = { ...observedPod, uid: 'uid', crName: 'gw', serviceAccountName: 'gateway' };

interface Given {
  spec?: Partial<SpecInput>;
  pods?: ObservedPod[];
  missing?: ObservedPod[];
  /** Of each gateway. */
  report?: Omit<ObservedReport, 'podUID' | 'status'>;
  revision?: string;
}

/** The gateways of a resource of generation 3, all with this status in their reports. */
function discover(status: Partial<SyncReportStatus> | undefined, given: Given = {}) {
  const { spec = {}, pods = [pod], missing = [], report = {}, revision } = given;
  return discoverGateways({
    isLabelRequired: false,
    gatewaySync: projectGatewaySync(gatewaySyncOf({ metadata: { generation: 3 }, spec }), undefined, 0),
    pods,
    missing,
    reportOf: () => ({ ...report, podUID: 'uid', status: status as SyncReportStatus | undefined }),
    wantedOf: () => ({ commit: wanted, ...(revision && { revision }) }),
  });
}

suite("the reason why a pod doesn't start", () => {
  const waiting = 'container sync-agent waits: CrashLoopBackOff';
  const messageOf = (status?: Partial<SyncReportStatus>) =>
    discover(status, { pods: [{ ...pod, waiting }] }).gateways[0]?.message;

  test('is shown for a gateway without a report, and next to a report', () => {
    assert.equal(messageOf(), waiting);
    assert.equal(messageOf({ state: 'Synced', commit: wanted }), waiting);
    assert.equal(messageOf({ state: 'Error', message: 'the volume is full' }), `the volume is full; ${waiting}`);
  });

  test('fits into the status, and ends with a whole character', () => {
    const message = messageOf({ state: 'Error', message: `x${'😀'.repeat(600)}` }) ?? '';
    assert.equal(message.length, 1_024);
    assert.ok(message.isWellFormed());
  });
});

suite('a gateway is shown in its real state', () => {
  const mappings = [{ source: 'a', destination: 'b' }];
  const withProfile = (profile: object) => ({ spec: { sync: { profiles: { default: { mappings, ...profile } } } } });
  const paused = withProfile({ paused: true });
  const dryRun = withProfile({ dryRun: true });
  const cases: [name: string, status: Partial<SyncReportStatus> | undefined, shown: string, given?: Given][] = [
    ['synced', { state: 'Synced', commit: wanted }, 'Synced'],
    ['synced to another commit', { state: 'Synced', commit: other }, 'Skewed'],
    ['synced to a commit that it does not name', { state: 'Synced' }, 'Skewed'],
    ['paused, on the very commit', { state: 'Paused', commit: wanted }, 'Paused', paused],
    ['paused with the whole resource', { state: 'Paused', commit: other }, 'Paused', { spec: { paused: true } }],
    ['paused until just now, on another commit', { state: 'Paused', commit: other }, 'Pending'],
    ['a standby, on another commit', { state: 'Paused', reason: 'Standby', commit: other }, 'Paused'],
    ['paused until just now, on the very commit', { state: 'Paused', commit: wanted }, 'Pending'],
    ['not aware of the pause yet', { state: 'Synced', commit: wanted }, 'Synced', paused],
    ['in a dry run, on the very commit', { state: 'DryRun', commit: wanted }, 'DryRun', dryRun],
    ['in a dry run until just now', { state: 'DryRun', commit: wanted }, 'Pending'],
    ['failed, with the very commit on disk', { state: 'Error', commit: wanted, message: 'x' }, 'Error'],
    ['waiting, with the very commit on disk', { state: 'Pending', commit: wanted }, 'Pending'],
    ['synced by an earlier spec', { state: 'Synced', commit: wanted, generation: 2 }, 'Pending'],
    [
      'synced by the spec of an earlier resource of the name',
      { state: 'Synced', commit: wanted, generation: 9 },
      'Pending',
    ],
    ['failed with an earlier spec', { state: 'Error', generation: 2, message: 'x' }, 'Pending'],
    ['paused by an earlier spec', { state: 'Paused', commit: wanted, generation: 2 }, 'Pending', paused],
    ['silent', undefined, 'Pending'],
  ];
  for (const [name, status, shown, given] of cases) {
    test(`${name}: ${shown}`, () => {
      const { gateways, counts } = discover(status, given);
      assert.equal(gateways[0]?.syncStatus, shown);
      assert.equal(gateways[0]?.message, status?.message);
      assert.equal(counts.synced, shown === 'Synced' ? 1 : 0);
      const { pending, error, missingSidecar, paused, dryRun, skewed, synced, total } = counts;
      assert.equal(pending + error + missingSidecar + paused + dryRun + skewed + synced, total);
    });
  }

  test('counts from a report never exceed the limits of the API server', () => {
    const files = { added: 2 ** 31 - 1, modified: 2 ** 31 - 1, deleted: 1, unchanged: 0 };
    assert.equal(discover({ state: 'Synced', commit: wanted, files }).gateways[0]?.filesChanged, 2 ** 31 - 1);
  });
});

suite('the list of gateways', () => {
  const shown = { name: 'edge', namespace: 'ns', serviceAccountName: 'gateway', profile: 'default' };
  const files = { added: 1, modified: 2, deleted: 4, unchanged: 8 };
  const reported = { state: 'Synced' as const, commit: wanted, ref: 'main', time: 'then', duration: '1s', files };

  test("contains all living pods, by name, with their agents' reports", () => {
    const ended = { ...pod, name: 'gateway-9', live: false };
    const { gateways, counts } = discover(
      { ...reported, agentVersion: '1' },
      { pods: [{ ...pod, name: 'gateway-1' }, ended, pod], missing: [{ ...pod, name: 'a' }, ended] },
    );
    const expected = {
      syncStatus: 'Synced',
      syncedCommit: wanted,
      syncedRef: 'main',
      lastSyncTime: 'then',
      lastSyncDuration: '1s',
      agentVersion: '1',
      filesChanged: 7,
    };
    const [{ message, ...first } = { message: '' }, ...others] = gateways;
    assert.ok(message);
    assert.deepEqual(first, { ...shown, podName: 'a', syncStatus: 'MissingSidecar' });
    assert.deepEqual(others, [
      { ...shown, podName: 'gateway-0', ...expected },
      { ...shown, podName: 'gateway-1', ...expected },
    ]);
    const { summary, total, synced, missingSidecar } = counts;
    assert.deepEqual([summary, total, synced, missingSidecar], ['2/3 synced', 3, 2, 1]);
  });

  test('contains no more about a gateway than its agent reports', () => {
    const [gateway] = discover({ state: 'Pending' }).gateways;
    assert.deepEqual(gateway, { ...shown, podName: 'gateway-0', syncStatus: 'Pending' });
    const failed = discover({ state: 'Error', reason: 'PathConflict' }).gateways[0];
    assert.deepEqual([failed?.syncStatus, failed?.reason], ['Error', 'PathConflict']);
    const resumed = discover({ state: 'Paused', reason: 'Paused' }).gateways[0];
    assert.deepEqual([resumed?.syncStatus, resumed?.reason], ['Pending', undefined]);
    assert.equal(discover({ ...reported, files: {} as typeof files }).gateways[0]?.filesChanged, 0);
  });

  test('has at most 200 entries, first those of gateways with a problem', () => {
    const pods = Array.from({ length: 201 }, (_, index) => ({ ...pod, name: `${index}` }));
    const { gateways } = discover(reported, { pods });
    assert.equal(gateways.length, 201);
    assert.equal(listed(gateways).length, 200);
    for (const problem of [
      { syncStatus: 'Error' as const },
      { syncStatus: 'MissingSidecar' as const },
      { clockSkew: 60 },
    ]) {
      const broken = gateways.map((gateway, index) => (index < 199 ? gateway : { ...gateway, ...problem }));
      assert.deepEqual(listed(broken), [...broken.slice(0, 198), ...broken.slice(-2)]);
    }
  });

  test('shows by how much a clock is wrong', () => {
    const [gateway] = discover(reported, { report: { clockSkew: -90 } }).gateways;
    assert.equal(gateway?.clockSkew, -90);
    assert.match(gateway?.message ?? '', /1m30s behind/);
  });

  test('is compared with the revision, if there is one', () => {
    const states = ['r', 'q', undefined].map((revision) => {
      const status = { ...reported, ...(revision && { revision }) };
      return discover(status, { revision: 'r' }).gateways[0]?.syncStatus;
    });
    assert.deepEqual(states, ['Synced', 'Skewed', 'Skewed']);
  });

  test('is right if the release leaves the files unchanged, according to a preview of exactly this one', () => {
    const plan = { commit: wanted, revision: 'r', digest: '', added: 0, modified: 0, deleted: 0 };
    const stateWith = (status: Partial<SyncReportStatus>) =>
      discover({ ...reported, commit: other, revision: 'q', ...status }, { revision: 'r' }).gateways[0]?.syncStatus;
    assert.equal(stateWith({ preview: plan, unchangedAt: wanted }), 'Synced');
    assert.equal(stateWith({ preview: plan }), 'Skewed');
    assert.equal(stateWith({ preview: { ...plan, revision: 'q' }, unchangedAt: wanted }), 'Skewed');
    assert.equal(stateWith({ preview: { ...plan, commit: other }, unchangedAt: other }), 'Skewed');
    assert.equal(stateWith({ state: 'Error', preview: plan, unchangedAt: wanted }), 'Error');
  });
});
