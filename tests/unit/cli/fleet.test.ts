import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { gatewayReportOf, podIdentityOf } from '../../../cli/client/gateway-objects.ts';
import { basisWords } from '../../../cli/fleet/basis.ts';
import type { Beyond } from '../../../cli/fleet/beyond.ts';
import { fleetView, resourceView } from '../../../cli/fleet/fleet.ts';
import { toRetry } from '../../../cli/fleet/orders.ts';
import { barsIn } from '../../../cli/fleet/sync-progress.ts';
import { lookOf, markOf } from '../../../cli/fleet/waves.ts';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import type { Condition, DiscoveredGateway, GatewaySyncStatus } from '../../../shared/api/gateway-sync-status.ts';
import type { RolloutStatus } from '../../../shared/api/rollout.ts';
import type { SyncReport, SyncReportStatus } from '../../../shared/api/sync-report.ts';
import { planOf, rolloutKey } from '../../../shared/domain/rollout/waves.ts';
import { omit } from '../../../shared/domain/text/objects.ts';
import {
  gatewayCountsOf,
  gatewaySyncOf,
  rolloutStatusOf,
  type SpecInput,
  syncReportOf,
} from '../../support/objects.ts';

const NEW = 'b'.repeat(40);
const OLD = 'a'.repeat(40);
const revision = '1'.repeat(32);
const waves = [{ name: 'canary', selector: { matchLabels: { tier: 'canary' } } }];

/** The status of a rollout of `NEW`, whose gateways had `OLD` before. */
const release = (changes: Partial<RolloutStatus> = {}) =>
  rolloutStatusOf({ number: 7, phase: 'Progressing', commit: NEW, stableCommit: OLD, ...changes });
const admissionOf = (admitted: string, ...names: string[]) => names.map((wave) => ({ wave, members: 'all', admitted }));

const ready = (status: Condition['status'], reason: string, message = reason): Condition[] => [
  { type: 'Ready', status, reason, message, lastTransitionTime: '2026-01-01T00:00:00Z' },
];

function gatewaySync(status: GatewaySyncStatus | undefined, spec: Partial<SpecInput> = {}): GatewaySync {
  return gatewaySyncOf({
    metadata: { generation: 3 },
    spec,
    status: status && { observedGeneration: 3, ...status },
  });
}

const gateway = (name: string, state: Partial<DiscoveredGateway> = {}): DiscoveredGateway => ({
  name,
  namespace: 'gateways',
  podName: name,
  syncStatus: 'Synced',
  syncedCommit: OLD,
  ...state,
});

const words = (given: DiscoveredGateway, status: GatewaySyncStatus = {}, beyond: Beyond = {}, spec: object = {}) =>
  resourceView(
    gatewaySync({ conditions: ready('True', 'Synced'), discoveredGateways: [given], ...status }, spec),
    beyond,
  ).gateways[0]?.waitsFor;

suite('the text about a GatewaySync', () => {
  const synced = ready('True', 'Synced');
  const rows: [string, GatewaySyncStatus | undefined, state: string, says: RegExp, spec?: Partial<SpecInput>][] = [
    ["the controller hasn't seen it", undefined, 'busy', /reconciled/],
    [
      "the controller hasn't seen the latest change",
      { observedGeneration: 2, conditions: synced },
      'busy',
      /reconciled/,
    ],
    [
      'all gateways have the commit',
      { conditions: synced, gateways: gatewayCountsOf({ total: 3, synced: 3 }) },
      'ready',
      /\b3\b/,
    ],
    ['no gateways', { conditions: ready('True', 'NoGateways') }, 'ready', /sync\.io\/inject/],
    ['its ref is missing', { conditions: ready('False', 'RefNotFound', 'no such ref') }, 'failed', /^no such ref$/],
    ['it is paused', { conditions: ready('Unknown', 'Paused') }, 'paused', /kubectl stoker resume/, { paused: true }],
  ];
  for (const [what, status, state, says, spec] of rows) {
    test(`is correct if ${what}`, () => {
      const view = resourceView(gatewaySync(status, spec), {});
      assert.equal(view.state, state);
      assert.match(view.says, says);
    });
  }

  test("contains a new ref that isn't followed yet, with the reason", () => {
    const unfollowed = (status: Condition['status'], target: object, ref = 'mian') => {
      const conditions = [{ ...ready(status, 'RefNotFound')[0], type: 'RefResolved' }] as Condition[];
      const given = { conditions, target } as GatewaySyncStatus;
      return resourceView(gatewaySync(given, { git: { repo: 'x', ref } }), {}).unfollowed;
    };
    const main = { ref: 'main', source: 'Spec' };
    assert.deepEqual(unfollowed('False', main), { ref: 'mian', reason: 'RefNotFound' });
    assert.deepEqual(unfollowed('True', main), { ref: 'mian' }, 'it has not been looked for');
    assert.equal(unfollowed('False', main, 'main'), undefined);
    assert.equal(unfollowed('False', { ref: 'v1', source: 'Request' }), undefined, 'somebody asked for another');
  });
});

suite('the text about a waiting gateway', () => {
  const states: [syncStatus: DiscoveredGateway['syncStatus'], message: string, fields: object, says?: RegExp][] = [
    ['Synced', '', {}],
    ['Synced', 'signed by nobody', {}, /^signed by nobody$/],
    ['Error', 'the volume is full', {}, /^the volume is full$/],
    ['Error', '', {}, /./],
    ['Pending', '', {}, /agent/],
    ['Pending', '', { syncedCommit: undefined }, /agent .* pod/],
    ['Pending', 'the volume is locked', {}, /^the volume is locked$/],
    ['Paused', '', {}, /kubectl stoker resume$/],
    ['Paused', 'one file differs', {}, /kubectl stoker resume: one file differs$/],
    ['DryRun', '', {}, /./],
    ['Skewed', '', {}, / bbbbbbbb$/],
  ];
  for (const [syncStatus, message, fields, says] of states) {
    test(`is the message of its agent, or the meaning of its state: ${syncStatus} ${message}`, () => {
      const given = gateway('a', { syncStatus, ...(message && { message }), ...fields });
      const found = words(given, { lastSyncCommit: NEW });
      if (says) assert.match(found ?? '', says);
      else assert.equal(found, undefined);
    });
  }

  test('mentions the missing next report', () => {
    const reports = [syncReportOf({ metadata: { name: 'a' }, status: { state: 'Pending' } })];
    const first = gateway('a', { syncStatus: 'Pending', syncedCommit: undefined });
    assert.equal(words(first, {}, { reports }), words(gateway('a', { syncStatus: 'Pending' })));
  });

  const admission = [...admissionOf('all', 'canary'), ...admissionOf('', 'rest')];
  const rollout = release({ wave: 'canary', admitted: 1, total: 2, plan: planOf(waves), admission });
  const pods = (tier?: string) => [
    { metadata: { name: 'a', namespace: 'gateways', uid: 'u', labels: tier ? { tier } : {} } },
  ];
  const report = (status: Partial<SyncReportStatus>, podUID = 'u') => [
    syncReportOf({ metadata: { name: 'a' }, status: { podUID, ...status } }),
  ];
  const spec = { rollout: { waves } };
  const inRollout = (given: Partial<RolloutStatus>, beyond: Beyond) =>
    words(gateway('a'), { rollout: { ...rollout, ...given } }, beyond, spec);

  test('mentions the preview, an approval, or a window', () => {
    const previewing = (preview?: object) =>
      inRollout({ phase: 'Previewing', wave: 'rest' }, { pods: pods(), reports: report({ commit: OLD, ...preview }) });
    assert.match(previewing() ?? '', / bbbbbbbb$/);
    const preview = { commit: NEW, revision, digest: 'd', added: 0, modified: 0, deleted: 0 };
    assert.match(previewing({ preview }) ?? '', /other gateways/);
    assert.equal(previewing({ preview: { ...preview, commit: 'c' } }), previewing());
    const waits = (phase: RolloutStatus['phase']) => inRollout({ phase, wave: 'rest' }, { pods: pods() });
    assert.match(waits('AwaitingApproval') ?? '', /approval .* rest$/);
    assert.match(waits('AwaitingWindow') ?? '', /window/);
  });

  test('mentions its wave, its turn in the wave, or its verification', () => {
    for (const phase of ['Progressing', 'AwaitingApproval'] as const)
      assert.match(inRollout({ phase }, { pods: pods() }) ?? '', / rest, .* canary$/);
    assert.match(inRollout({ wave: 'rest' }, { pods: pods() }) ?? '', / rest$/);
    assert.match(inRollout({ phase: 'Stopped' }, { pods: pods() }) ?? '', / aaaaaaaa$/);
    const running = report({ commit: NEW, revision, rollout: 7, verification: 'Running' });
    assert.match(inRollout({}, { pods: pods('canary'), reports: running }) ?? '', /verified/);
    for (const phase of ['Complete', 'RollingBack', 'RolledBack'] as const)
      assert.equal(inRollout({ phase }, { pods: pods() }), undefined);
    assert.equal(inRollout({}, { pods: pods('canary') }), undefined, 'it is under way');
  });

  test("mentions a failure, unless the agent's message explains it", () => {
    const failed = { commit: NEW, revision, rollout: 7, verification: 'Failed' as const };
    const said = (fields: object, changes: Partial<RolloutStatus> = {}) =>
      inRollout(changes, { pods: pods('canary'), reports: report({ ...failed, ...fields }) });
    assert.match(said({}) ?? '', / bbbbbbbb$/);
    assert.equal(said({ message: 'no answer' }), undefined);
    assert.equal(said({}, { phase: 'Stopped' }), said({}));
  });

  const skewed = (status: GatewaySyncStatus, beyond: Beyond) =>
    words(gateway('a', { syncStatus: 'Skewed' }), { lastSyncCommit: NEW, rollout, ...status }, beyond, spec);

  test('contains the new commit only once its wave is admitted', () => {
    assert.equal(skewed({}, { pods: pods('canary') }), 'updating to bbbbbbbb');
    assert.equal(skewed({}, { pods: pods() }), 'updating to aaaaaaaa');
    assert.equal(skewed({}, {}), 'updating to its commit');
  });

  test('contains the commit that it returns to during a rollback, and the one in progress if a newer one waits', () => {
    const newer = 'c'.repeat(40);
    for (const phase of ['RollingBack', 'RolledBack'] as const)
      assert.equal(skewed({ rollout: { ...rollout, phase } }, { pods: pods('canary') }), 'updating to aaaaaaaa');
    const waiting = { lastSyncCommit: newer, rollout: { ...rollout, nextCommit: newer } };
    assert.equal(skewed(waiting, { pods: pods('canary') }), 'updating to bbbbbbbb');
  });

  test('comes with all other fields of the gateway', () => {
    const given = gateway('a', { profile: 'line', lastSyncTime: 'then', lastSyncDuration: '2s' });
    const status = { conditions: ready('True', 'Synced'), discoveredGateways: [given], rollout };
    const [view] = resourceView(gatewaySync(status, spec), { pods: pods('canary') }).gateways;
    const from = { profile: 'line', wave: 'canary', commit: OLD, syncedAt: 'then', took: '2s' };
    assert.deepEqual(view, { name: 'a', pod: 'a', status: 'Synced', ...from });
  });

  test("is missing without an error if pod labels can't be read", () => {
    assert.equal(inRollout({}, {}), undefined);
    const { rollout: view } = resourceView(gatewaySync({ rollout, discoveredGateways: [gateway('a')] }, spec), {});
    assert.deepEqual(view?.waves, [
      { name: 'canary', state: 'underWay' },
      { name: 'rest', state: 'waiting' },
    ]);
  });

  test('ignores a report about another pod of the same name', () => {
    const look = (uid: string) =>
      resourceView(gatewaySync({ rollout, discoveredGateways: [gateway('a')] }, spec), {
        pods: pods('canary'),
        reports: report({ commit: NEW, revision, rollout: 7 }, uid),
      }).rollout?.waves[0]?.gateways?.[0]?.look;
    assert.equal(look('u'), 'new');
    assert.equal(look('another'), 'onItsWay');
  });
});

suite('the picture of a rollout', () => {
  const rollout = release({ wave: 'b', stableRevision: 'r0', admission: admissionOf('all', 'a', 'b', 'c') });
  const newest = { rollout: 7, commit: NEW, revision, state: 'Synced' as const };
  const stable = { rollout: 7, commit: OLD, revision: 'r0', state: 'Synced' as const };

  const complete: Partial<RolloutStatus> = { phase: 'Complete' };
  const rolledBack: Partial<RolloutStatus> = { phase: 'RolledBack', failures: ['x'] };
  const looks: [name: string, look: string, report: SyncReportStatus | undefined, Partial<RolloutStatus>?, boolean?][] =
    [
      ['has the release', 'new', newest],
      ["isn't admitted", 'old', newest, {}, false],
      ['the release leaves unchanged', 'unchanged', { ...newest, unchangedAt: newest.commit }],
      ['an earlier release left unchanged', 'new', { ...newest, unchangedAt: OLD }],
      ["hasn't reported", 'onItsWay', undefined],
      ['is being verified', 'onItsWay', { ...newest, verification: 'Running' }],
      ['is verified when the rollout is complete', 'new', { ...newest, verification: 'Running' }, complete],
      ['failed its verification', 'failed', { ...newest, verification: 'Failed' }],
      ['has failed', 'failed', { ...newest, hasFailed: true }],
      ['has failed in an earlier rollout', 'onItsWay', { ...newest, hasFailed: true, rollout: 6 }],
      ['has another commit', 'onItsWay', stable],
      ['has another revision', 'onItsWay', { ...newest, revision: 'r0' }],
      ['counts as failed', 'failed', newest, { failures: ['x'] }],
      ["isn't among the failed ones", 'new', newest, { failures: ['y'] }],
      ['has a temporary error', 'onItsWay', { ...newest, state: 'Error' }],
      ['must be rolled back', 'onItsWay', newest, { phase: 'RollingBack' }],
      ['has been rolled back', 'old', stable, { phase: 'RollingBack' }],
      ['has been rolled back to another revision', 'onItsWay', { ...stable, revision }, { phase: 'RolledBack' }],
      ['failed, and has been rolled back', 'old', stable, rolledBack],
      ['failed, and has an error after the rollback', 'failed', { ...stable, state: 'Error' }, rolledBack],
      ["failed, and hasn't been rolled back", 'failed', newest, rolledBack],
    ];
  for (const [name, look, report, changes = {}, isAdmitted = true] of looks) {
    test(`shows a gateway that ${name} as "${look}"`, () => {
      assert.equal(lookOf({ podName: 'x', isAdmitted }, report, { ...rollout, ...changes }), look);
    });
  }

  test('marks each wave', () => {
    const marks = (changes: Partial<RolloutStatus>, look: 'new' | 'failed' = 'new') =>
      [0, 1, 2].map((index) => markOf(index, [{ look: 'new' }, { look }], { ...rollout, ...changes }));
    assert.deepEqual(marks({}), ['done', 'underWay', 'waiting']);
    assert.deepEqual(marks({ phase: 'Complete' }), ['done', 'done', 'done']);
    for (const phase of ['RollingBack', 'RolledBack'] as const)
      assert.deepEqual(marks({ phase }), ['back', 'back', 'back']);
    assert.deepEqual(marks({}, 'failed'), ['failed', 'failed', 'failed']);
    assert.deepEqual(marks({ phase: 'Previewing' }), ['waiting', 'waiting', 'waiting']);
    assert.deepEqual(marks({ phase: 'Stopped', previewFailure: 'x' }), ['waiting', 'waiting', 'waiting']);
    assert.deepEqual(marks({ phase: 'Stopped' }), ['done', 'failed', 'waiting'], 'the gateway that failed is gone');
  });
});

suite('a fleet with more gateways than fit into a status', () => {
  const total = 500;
  const names = Array.from({ length: total }, (_, index) => `store-${String(index).padStart(3, '0')}`);
  const podsOf = (wanted: readonly string[]) =>
    wanted.map((name, index) => ({
      metadata: {
        name,
        namespace: 'gateways',
        uid: name,
        labels: index < 5 ? { tier: 'canary' } : {},
        annotations: { 'sync.io/inject': 'true', 'sync.io/cr-name': 'plant' },
      },
    }));
  const reportOf = (name: string, status: Partial<SyncReportStatus> = {}): SyncReport =>
    syncReportOf({
      metadata: { name },
      status: { podUID: name, commit: NEW, revision, rollout: 7, crName: 'plant', ...status },
    });
  const rollout = release({ wave: 'rest', plan: planOf(waves), admission: admissionOf('all', 'canary', 'rest') });
  const status = {
    rollout,
    conditions: ready('Unknown', 'RolloutProgressing'),
    lastSyncCommit: NEW,
    gateways: gatewayCountsOf({ total, synced: total }),
    // The gateways of the canary are last.
    discoveredGateways: names.slice(300).map((name) => gateway(name, { syncedCommit: NEW })),
  };
  const given = gatewaySync(status, { rollout: { waves } });
  const sizes = (beyond: Beyond) =>
    resourceView(given, beyond).rollout?.waves.map(({ gateways }) => gateways?.length ?? 'unknown');

  test('is counted in total, wave by wave', () => {
    const beyond = { pods: podsOf(names), reports: names.map((name) => reportOf(name)) };
    assert.deepEqual(sizes(beyond), [5, 495]);
    const { gateways, rollout: view } = resourceView(given, beyond);
    assert.equal(gateways.length, total);
    assert.ok(view?.waves.every((wave) => wave.gateways?.every(({ look }) => look === 'new')));
    const { rollout: _, ...atOnce } = status;
    const [bar] = barsIn(resourceView(gatewaySync(atOnce), beyond));
    assert.deepEqual([bar?.state, bar?.gateways?.length], ['done', total]);
  });

  test('has no numbers if some of it is unknown', () => {
    const someReports = { reports: names.slice(0, 250).map((name) => reportOf(name)) };
    for (const beyond of [{}, { pods: podsOf(names) }, someReports]) {
      assert.deepEqual(sizes(beyond), ['unknown', 'unknown']);
    }
  });

  test('names the source of its numbers, and what cannot be listed', () => {
    const words = (beyond: Beyond) => basisWords(resourceView(given, beyond).basis);
    const numbersIn = (text: string) => text.match(/\d+|SyncReports|pods/g)?.join(' ');
    const reports = names.map((name) => reportOf(name));
    const pods = podsOf(names);
    const some = reports.slice(0, 250);
    const rows: [Beyond, string][] = [
      [{ reports, pods }, '500'],
      [{ reports: [], pods: pods.slice(1) }, '499 500'],
      [{ reports }, '500 pods'],
      [{ reports: some }, '450 500 pods'],
      [{ pods }, '200 500 SyncReports'],
      [{}, '200 500 SyncReports pods'],
      [{ isLoading: true }, '200 500'],
    ];
    for (const [beyond, expected] of rows) assert.equal(numbersIn(words(beyond)), expected);
  });

  test('is known from its reports alone if pods cannot be listed', () => {
    const foreign = reportOf('other', { crName: 'shop' });
    const beyond = { reports: [foreign, ...names.map((name) => reportOf(name, { gateway: `till ${name}` }))] };
    const { gateways } = resourceView(given, beyond);
    assert.deepEqual([gateways.length, gateways[0]?.name], [total, 'till store-000']);
  });

  test('excludes pods that name the resource without requesting the sidecar', () => {
    const unasked = podsOf(['job-1', 'job-2']).map(({ metadata }) => ({
      metadata: { ...metadata, annotations: { 'sync.io/cr-name': 'plant' } },
    }));
    assert.deepEqual(sizes({ pods: [...unasked, ...podsOf(names)], reports: [] }), [5, 495]);
  });

  test('excludes gateways of other resources and deleted ones', () => {
    const [first, second, third, ...others] = podsOf([...names, 'a', 'b', 'c']).toReversed();
    const foreign = [
      { metadata: { ...first?.metadata, annotations: { 'sync.io/inject': 'true', 'sync.io/cr-name': 'shop' } } },
      { metadata: { ...second?.metadata, namespace: 'other' } },
      { metadata: { ...third?.metadata, deletionTimestamp: 'now' } },
    ] as Beyond['pods'];
    const known = resourceView(given, { reports: [], pods: [...(foreign ?? []), ...others] }).gateways;
    assert.equal(known.length, total);
  });

  test('has the state of each gateway from its report, but the name and the profile from its pod', () => {
    const states = (more: Partial<SyncReportStatus>, changes: GatewaySyncStatus = {}) => {
      const reports = [reportOf('store-007', { gateway: 'forged', profile: 'forged', ...more })];
      const { gateways } = resourceView(gatewaySync({ ...status, ...changes }, { rollout: { waves } }), {
        pods: podsOf(names),
        reports,
      });
      const { status: state, name, profile } = gateways.find(({ pod }) => pod === 'store-007') ?? {};
      return [state, name, profile].filter(Boolean).join(' ');
    };
    assert.equal(states({ generation: 2 }), 'Pending store-007 default');
    assert.equal(states({ commit: OLD }), 'Synced store-007 default');
    assert.equal(states({ commit: 'c' }), 'Skewed store-007 default');
    assert.equal(states({ podUID: 'another' }), 'Pending store-007 default');
    const { rollout: _, ...atOnce } = status;
    assert.equal(states({ commit: OLD }, { ...atOnce, rollout: undefined as never }), 'Skewed store-007 default');
  });
});

suite('a gateway without a readable report', () => {
  const lookIn = (
    given: Partial<DiscoveredGateway>,
    changes: Partial<RolloutStatus>,
    spec: Partial<SpecInput> = {},
  ) => {
    const rollout = release({ wave: 'rest', plan: planOf([]), admission: admissionOf('all', 'rest'), ...changes });
    const status = { rollout, lastSyncCommit: NEW, discoveredGateways: [gateway('a', given)] };
    const [wave] = resourceView(gatewaySync(status, spec), {}).rollout?.waves ?? [];
    return wave?.gateways?.[0]?.look;
  };
  const verify = { gateway: { verify: { requests: [{ path: '/health', port: 8080 }] } } } as unknown as SpecInput;

  test('is shown as its status implies', () => {
    assert.equal(lookIn({ syncedCommit: NEW }, {}), 'new');
    assert.equal(lookIn({ syncedCommit: NEW }, {}, verify), 'onItsWay', 'its verification is unknown');
    assert.equal(lookIn({ syncedCommit: NEW }, { phase: 'Complete' }, verify), 'new');
    assert.equal(lookIn({ syncedCommit: NEW, syncStatus: 'Skewed' }, {}), 'onItsWay');
    assert.equal(lookIn({ syncedCommit: OLD, syncStatus: 'Error' }, {}), 'onItsWay');
    assert.equal(lookIn({ syncedCommit: OLD }, { phase: 'RolledBack', failures: ['a'] }, verify), 'old');
    assert.equal(lookIn({ syncedCommit: NEW, syncStatus: 'Skewed' }, { phase: 'RollingBack' }), 'onItsWay');
  });
});

suite('the parts of an object that are kept', () => {
  const large = 'x'.repeat(200_000);

  test('of a pod assign it to a GatewaySync and to a wave, and are limited', () => {
    const labels = { tier: 'canary', 'app.kubernetes.io/name': 'till' };
    const annotations = { 'sync.io/cr-name': 'plant', 'sync.io/inject': 'true', other: large };
    const metadata = { name: 'a', namespace: 'gateways', uid: 'u', labels, annotations };
    assert.deepEqual(podIdentityOf({ metadata }).metadata, {
      name: 'a',
      namespace: 'gateways',
      uid: 'u',
      labels,
      annotations: { 'sync.io/cr-name': 'plant', 'sync.io/inject': 'true', 'sync.io/gateway-name': 'till' },
      deletionTimestamp: undefined,
    });
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`l${index}`, 'v'.repeat(63)]));
    const hostile = { ...metadata, labels: many, annotations: { 'sync.io/gateway-name': large } };
    assert.ok(JSON.stringify(podIdentityOf({ metadata: hostile })).length < 8_000);
  });

  test('of a report are its state and the first changes', () => {
    const changes = Array.from({ length: 100 }, (_, index) => `differs ${'x'.repeat(1_000)} ${index}`);
    const report = syncReportOf({ status: { changes, inspection: { id: 'i', sealed: large }, message: 'm' } });
    const { status } = gatewayReportOf(report);
    assert.deepEqual([status?.changes?.length, status?.changes?.at(-1), status?.message], [5, 'and 96 more', 'm']);
    assert.ok(JSON.stringify(gatewayReportOf(report)).length < 8_000);
    const paths = changes.slice(0, 20).map((change) => `modify ${change}`);
    const preview = { commit: NEW, revision, digest: 'd', added: 0, modified: 20, deleted: 0, paths };
    const previewing = gatewayReportOf(syncReportOf({ status: { preview } }));
    assert.deepEqual([previewing.status?.preview?.paths?.length, previewing.status?.preview?.modified], [4, 20]);
    assert.ok(JSON.stringify(previewing).length < 8_000);
    const few = ['differs a (content)'];
    assert.deepEqual(gatewayReportOf(syncReportOf({ status: { changes: few } })).status?.changes, few);
  });
});

suite('after a rollback', () => {
  const all = { verified: 1, total: 1, plan: planOf([]), admission: admissionOf('', 'rest') };
  const rollout = release({ phase: 'RolledBack', message: 'm', ...all });
  const status = {
    rollout,
    conditions: ready('False', 'RolloutRolledBack', 'm'),
    lastSyncCommit: NEW,
    gateways: gatewayCountsOf({ total: 1, synced: 1 }),
    discoveredGateways: [gateway('a')],
  };
  const reports = [syncReportOf({ metadata: { name: 'a' }, status: { commit: OLD, revision, rollout: 7 } })];
  const viewOf = (changes: Partial<RolloutStatus> = {}, more: GatewaySyncStatus = {}) =>
    resourceView(gatewaySync({ ...status, ...more, rollout: { ...rollout, ...changes } }), { reports });

  test('by a user, nothing is wrong, and the shown commit is the one that the gateways have', () => {
    const { state, commit, backOn, rollout: view } = viewOf();
    assert.deepEqual([state, commit, backOn], ['rolledBack', NEW, OLD]);
    const [wave] = view?.waves ?? [];
    assert.deepEqual([wave?.state, wave?.gateways?.[0]?.look], ['back', 'old']);
  });

  test('that is incomplete, or due to failures, a user has to check the resource', () => {
    assert.equal(viewOf({ failures: ['a'] }).state, 'failed');
    assert.equal(viewOf({ verified: 0 }).state, 'failed');
    assert.equal(viewOf({}, { gateways: { ...status.gateways, synced: 0, error: 1 } }).state, 'failed');
    assert.equal(viewOf({ phase: 'Complete' }).backOn, undefined);
  });
});

test('a commit that its preview stopped is not the one that the gateways have', () => {
  const stopped = release({ phase: 'Stopped', previewFailure: 'x' });
  const status = { conditions: ready('False', 'PreviewFailed'), lastSyncCommit: NEW };
  const { commit, keeps, backOn } = resourceView(gatewaySync({ ...status, rollout: stopped }), {});
  assert.deepEqual([commit, keeps, backOn], [NEW, OLD, undefined]);
  const { previewFailure: _, ...failed } = stopped;
  assert.equal(resourceView(gatewaySync({ ...status, rollout: failed }), {}).keeps, undefined);
});

suite('the whole view', () => {
  const request = { ref: 'v2', outcome: 'Applied' as const };
  const status: GatewaySyncStatus = {
    conditions: ready('True', 'Synced'),
    target: { ref: 'v2', source: 'Request' },
    lastSyncCommit: NEW,
    lastSyncTime: 'then',
    lastRequest: request,
    lastPush: { ref: 'refs/heads/x', outcome: 'Ignored' },
    discoveredGateways: [gateway('a', { syncedCommit: NEW })],
  };

  test('of a GatewaySync has all its relevant fields', () => {
    const { gateways, says, ...view } = resourceView(gatewaySync(status), {});
    assert.match(says, /sync\.io\/inject: "true"$/);
    assert.deepEqual(view, {
      namespace: 'gateways',
      name: 'plant',
      state: 'ready',
      reason: 'Synced',
      repo: 'https://git.test/app.git',
      ref: 'v2',
      source: 'Request',
      commit: NEW,
      resolvedAt: 'then',
      counts: omit(gatewayCountsOf(), 'summary'),
      basis: { from: 'status', shown: 1, total: 0, denied: ['SyncReports', 'pods'] },
      lastRequest: request,
      lastPush: { ref: 'refs/heads/x', outcome: 'Ignored' },
    });
    assert.equal(gateways.length, 1);
    for (const unseen of [gatewaySync(undefined), gatewaySync({ ...status, observedGeneration: 2 })])
      assert.deepEqual([resourceView(unseen, {}).reason, resourceView(unseen, {}).state], ['NotSeen', 'busy']);
    const two = gatewaySync({ conditions: ready('False', 'GatewaysFailed'), gateways: gatewayCountsOf({ total: 5 }) });
    const { totals } = fleetView([gatewaySync(status), two], {});
    assert.deepEqual(totals, { resources: 2, ready: 1, gateways: 5, synced: 0 });
    assert.equal(resourceView(gatewaySync(status, { paused: true }), {}).reason, 'Paused');
  });

  test('of a rollout has its position, and explains the resource while that waits for it', () => {
    const announced = { summary: 's', startedAt: 'then', nextCommit: 'c', message: 'm' };
    const rollout = release({ phase: 'Stopped', ...announced, plan: 'other' });
    const given = { ...status, rollout, conditions: ready('False', 'RolloutStopped', 'short') };
    const { rollout: view, says, state } = resourceView(gatewaySync(given), {});
    assert.deepEqual([says, state], ['m', 'failed']);
    assert.deepEqual(view, { number: 7, phase: 'Stopped', commit: NEW, stableCommit: OLD, ...announced, waves: [] });
    assert.equal(resourceView(gatewaySync({ ...given, conditions: ready('False', 'X', 'own') }), {}).says, 'own');
  });

  test('counts paused gateways and dry runs', () => {
    const says = (total: number, synced: number, other: object) =>
      resourceView(gatewaySync({ ...status, gateways: gatewayCountsOf({ total, synced, ...other }) }), {}).says;
    assert.doesNotMatch(says(1, 1, {}), /\d/);
    assert.match(says(2, undefined as never, {}), /^\D*2\D*$/, 'an older controller counted');
    assert.match(says(3, 1, { paused: 1, dryRun: 1 }), /\b1 of 3 .*, 1 .*, 1 /);
  });

  test('of a gateway uses the labels of its pod in its own namespace', () => {
    const rollout = release({ wave: 'canary', plan: planOf(waves), admission: admissionOf('', 'canary', 'rest') });
    const pods = ['other', 'gateways'].map((namespace) => ({
      metadata: { name: 'a', namespace, uid: namespace, labels: { tier: namespace === 'gateways' ? 'canary' : 'x' } },
    }));
    const wavesOf = (given: typeof pods) =>
      resourceView(gatewaySync({ ...status, rollout }, { rollout: { waves } }), { pods: given }).rollout?.waves.map(
        ({ gateways = [] }) => gateways,
      );
    const shown = [[{ name: 'a', pod: 'a', look: 'old' }], []];
    assert.deepEqual([wavesOf(pods), wavesOf(pods.toReversed())], [shown, shown]);
  });

  test('of a wave has its gateways in the order of admission', () => {
    const names = ['a', 'b', 'c', 'd', 'e'];
    const rollout = release({ wave: 'rest', plan: planOf([]), admission: admissionOf('', 'rest') });
    const given = { ...status, rollout, discoveredGateways: names.map((name) => gateway(name)) };
    const [wave] = resourceView(gatewaySync(given), {}).rollout?.waves ?? [];
    const inOrder = names.toSorted((a, b) => (rolloutKey(a, a) < rolloutKey(b, b) ? -1 : 1));
    assert.notDeepEqual(inOrder, names);
    assert.deepEqual(
      wave?.gateways?.map(({ name }) => name),
      inOrder,
    );
    const edited = resourceView(gatewaySync(given, { rollout: { waves } }), { pods: [] }).rollout?.waves;
    assert.deepEqual(edited, [{ name: 'rest', state: 'underWay' }], 'of other waves nobody can say who is in them');
  });
});

suite('a command of kubectl stoker', () => {
  const rollout = release({ phase: 'Complete', commit: OLD });

  test('to retry names the commit that was given up', () => {
    const retried = (changes: Partial<RolloutStatus>) => toRetry({ ...rollout, ...changes });
    assert.equal(retried({}), undefined);
    assert.equal(retried({ phase: 'Stopped' }), OLD);
    assert.equal(retried({ nextCommit: NEW, givenUp: [`x r`, `${NEW} r`] }), NEW);
    assert.equal(retried({ givenUp: ['x r'] }), 'x');
  });
});
