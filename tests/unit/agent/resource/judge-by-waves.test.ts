import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { type Intent, judgeResource, type Verdict } from '../../../../agent/resource/judge-resource.ts';
import { type ProfileView, viewProfile } from '../../../../agent/resource/stored-syncs.ts';
import type { WatchedResource } from '../../../../agent/resource/watch-resource.ts';
import { isSameWork } from '../../../../agent/sync/in-force.ts';
import type { RolloutStatus } from '../../../../shared/api/rollout.ts';
import type { Wave } from '../../../../shared/api/wave.ts';
import type { ProfileSource } from '../../../../shared/domain/kubernetes/resolve-profile.ts';
import { planOf, rolloutKey } from '../../../../shared/domain/rollout/waves.ts';
import { omit } from '../../../../shared/domain/text/objects.ts';
import { gatewaySpecOf, rolloutStatusOf, type SpecInput } from '../../../support/objects.ts';

const NEW = 'b'.repeat(40);
const OLD = 'a'.repeat(40);
const LIVE = '1'.repeat(32);
const BEFORE = '2'.repeat(32);
const OTHER = '3'.repeat(32);
const mapping = (source: string) => ({ source, destination: 'x', required: true, template: false });
type SyncInput = SpecInput['sync'];
const syncOf = (source: string, settings: object = {}, defaults: SyncInput['defaults'] = {}) =>
  gatewaySpecOf({ sync: { defaults, profiles: { default: { mappings: [mapping(source)], ...settings } } } }).sync;

const labels = new Map([
  ['app.kubernetes.io/name', 'edge'],
  ['tier', 'canary'],
]);
const key = rolloutKey('edge', 'gateway-0');
const lower = '0'.repeat(24);
const higher = 'f'.repeat(24);
const waves = [{ name: 'canary', selector: { matchLabels: { tier: 'canary' } } }] as Wave[];
const admission = (canary: string, rest = '', members = 'all') => [
  { wave: 'canary', members, admitted: canary },
  { wave: 'rest', members: 'all', admitted: rest },
];

const statusOf = (changes: Partial<RolloutStatus> = {}): RolloutStatus =>
  rolloutStatusOf({
    number: 7,
    phase: 'Progressing',
    wave: 'canary',
    commit: NEW,
    ref: 'v2',
    revision: LIVE,
    stableCommit: OLD,
    stableRef: 'v1',
    stableRevision: BEFORE,
    stableRelease: 'app-6',
    release: 'app-7',
    plan: planOf(waves),
    admission: admission(''),
    ...changes,
  });

interface Given {
  status?: unknown;
  sync?: WatchedResource['spec']['sync'];
  before?: ProfileView;
  knownLabels?: ReadonlyMap<string, string> | undefined;
  changes?: Partial<WatchedResource>;
  paused?: boolean;
  plan?: Wave[];
  earlier?: string[];
  identity?: { podName: string; gatewayName: string | undefined };
}

const found = (sync: ProfileSource): ProfileView => viewProfile(sync, 'default');

function judge({
  status,
  sync = syncOf('new'),
  before,
  changes,
  paused = false,
  plan = waves,
  earlier = [OLD],
  identity = { podName: 'gateway-0', gatewayName: undefined },
  ...rest
}: Given): Verdict {
  const resource: WatchedResource = {
    generation: 3,
    observedGeneration: 3,
    ref: 'v3',
    commit: 'c'.repeat(40),
    gateways: 1,
    refResolved: { status: 'True', message: '' },
    spec: { ...gatewaySpecOf(), sync, paused },
    rollout: { waves: plan, status: status as RolloutStatus | undefined, revision: LIVE, earlier },
    ...changes,
  };
  const known = 'knownLabels' in rest ? rest.knownLabels : labels;
  return judgeResource(resource, 'default', {
    self: () => ({ identity, labels: known }),
    findSync: ({ revision, release }) =>
      revision === BEFORE && release === 'app-6' && before ? before : `${release} has not been read`,
  });
}

function intentOf(given: Given): Intent {
  const verdict = judge({ before: found(syncOf('old')), ...given });
  assert.ok(verdict.kind === 'act', 'message' in verdict ? verdict.message : verdict.kind);
  return verdict.intent;
}

/** Commit, ref, revision, number of the rollout, and whose mappings. */
function summaryOf({ commit, ref, revision, rollout, profile }: Intent) {
  return [commit, ref, revision, rollout, profile.mappings[0]?.source];
}
const RELEASE = [NEW, 'v2', LIVE, 7, 'new'];
const STABLE = [OLD, 'v1', BEFORE, undefined, 'old'];
const BACK = [OLD, 'v1', BEFORE, 7, 'old'];

suite('while changes go in waves', () => {
  const cases: [name: string, status: RolloutStatus, expected: unknown[]][] = [
    ['nobody is admitted', statusOf(), STABLE],
    ['all of the wave are admitted', statusOf({ admission: admission('all') }), RELEASE],
    ['all of another wave are admitted', statusOf({ admission: admission('', 'all') }), STABLE],
    ['the boundary is its own key', statusOf({ admission: admission(key) }), RELEASE],
    ['the boundary is below its key', statusOf({ admission: admission(lower) }), STABLE],
    ['the boundary is above its key', statusOf({ admission: admission(higher) }), RELEASE],
    ['its wave has no room for it', statusOf({ admission: admission('all', '', lower) }), STABLE],
    ['its wave has no room, and the rest is admitted', statusOf({ admission: admission('', 'all', lower) }), RELEASE],
    ['the rollout stopped, and it is admitted', statusOf({ phase: 'Stopped', admission: admission('all') }), RELEASE],
    ['a newer one waits', statusOf({ nextCommit: 'd'.repeat(40) }), STABLE],
    ['all goes back', statusOf({ phase: 'RollingBack', admission: admission('all', 'all') }), BACK],
    ['all went back', statusOf({ phase: 'RolledBack' }), BACK],
    ['all went back, under another plan', statusOf({ phase: 'RolledBack', admission: [] }), BACK],
  ];
  test('a gateway that waits has nothing to do when a rollout begins', () => {
    const judged = (status: RolloutStatus) => judge({ before: found(syncOf('old')), status });
    const done = { commit: OLD, ref: 'v1', revision: BEFORE, release: 'app-6', phase: 'Complete' } as const;
    const complete = judged(statusOf({ number: 6, ...done }));
    const history = judge({ before: found(syncOf('old')), status: statusOf({ number: 6, ...done }), earlier: [NEW] });
    assert.ok(isSameWork(history, complete));
    assert.ok(isSameWork(judged(statusOf()), complete));
    for (const status of [statusOf({ admission: admission('all') }), statusOf({ phase: 'RollingBack' })])
      assert.ok(!isSameWork(judged(status), complete), status.phase);
    const other = judge({ before: found(syncOf('other')), status: statusOf() });
    assert.ok(!isSameWork(other, complete));
  });

  for (const [name, status, expected] of cases) {
    test(`the right release is chosen if ${name}`, () => assert.deepEqual(summaryOf(intentOf({ status })), expected));
  }

  test('a gateway keeps its files until its wave begins if the stable release is unknown', () => {
    const unknown = {
      stableCommit: undefined,
      stableRef: undefined,
      stableRevision: undefined,
      stableRelease: undefined,
    };
    const judged = (given: Partial<RolloutStatus>) => judge({ status: statusOf({ ...unknown, ...given }) });
    assert.deepEqual([judged({}).kind, judged({ phase: 'Stopped' }).kind], ['unsettled', 'unsettled']);
    const admitted = judged({ admission: admission('all') });
    assert.ok(admitted.kind === 'act');
    assert.deepEqual(summaryOf(admitted.intent), RELEASE);
  });

  test('a phase of a later controller counts as one in progress, and so does the preview', () => {
    for (const phase of ['Previewing', 'Sideways']) {
      const given = (admitted: string) =>
        intentOf({ status: { ...statusOf({ admission: admission(admitted) }), phase } });
      assert.deepEqual([summaryOf(given('')), summaryOf(given('all'))], [STABLE, RELEASE]);
    }
  });

  test('a wait for something missing belongs to the generation that was read, and has no start policy', () => {
    const status = statusOf();
    const common = { kind: 'unsettled', startPolicy: undefined };
    const judged = (given: Given) => {
      const { message, ...rest } = judge(given) as { message: string };
      return [rest, message.includes(BEFORE)];
    };
    assert.deepEqual(judged({ status, changes: { generation: 4 } }), [{ ...common, generation: 4 }, false]);
    assert.deepEqual(judged({ status }), [{ ...common, generation: 3 }, true]);
  });

  test('labels are ignored except those that the controller maintains', () => {
    const many = (count: number) => Array.from({ length: count }, (_, n): [string, string] => [`a${n}`, 'x']);
    const status = statusOf({ admission: admission('all') });
    const given = (count: number) => intentOf({ status, knownLabels: new Map([...many(count), ...labels]) });
    assert.deepEqual(summaryOf(given(30)), RELEASE);
    assert.deepEqual(summaryOf(given(32)), STABLE);
  });

  test('every gateway gets the release once the rollout is complete, whatever the plan and the labels', () => {
    const complete = { phase: 'Complete', stableCommit: NEW, stableRef: 'v2', stableRevision: LIVE } as const;
    const plans = [admission('all', 'all'), admission(''), []];
    for (const each of plans) {
      const status = statusOf({ ...complete, admission: each });
      assert.deepEqual(summaryOf(intentOf({ status, knownLabels: undefined })), RELEASE);
    }
  });

  test("the newest commit is ignored, and needn't be resolved", () => {
    const refResolved = { status: 'False', message: 'no such ref' };
    assert.deepEqual(summaryOf(intentOf({ status: statusOf(), changes: { refResolved, commit: undefined } })), STABLE);
  });

  test("a gateway is identified by its configured name, and by its pod's name", () => {
    const named = rolloutKey('given', 'gateway-0');
    const [boundary = ''] = [named, key].sort();
    const status = statusOf({ admission: admission(boundary) });
    const commitOf = (gatewayName: string | undefined, podName: string) =>
      intentOf({ status, identity: { podName, gatewayName } }).commit;
    assert.equal(commitOf('given', 'gateway-0'), boundary === named ? NEW : OLD);
    assert.equal(commitOf(undefined, 'gateway-0'), boundary === key ? NEW : OLD);
    const other = rolloutKey('edge', 'gateway-1');
    assert.equal(commitOf(undefined, 'gateway-1'), other <= boundary ? NEW : OLD);
  });
});

suite("the agent changes nothing if it can't decide because", () => {
  const admitted = { admission: admission('all', 'all') };
  const cases: [name: string, given: Given, message: RegExp][] = [
    ['no rollout yet', { status: undefined }, /status\.rollout/],
    [
      'a spec that the controller has not seen',
      { status: statusOf(admitted), changes: { observedGeneration: 2 } },
      /GatewaySync/,
    ],
    ['waves of another name', { status: statusOf(admitted), plan: [{ name: 'other' }] as Wave[] }, /spec\.rollout/],
    [
      'a selector that was edited since',
      { status: statusOf(admitted), plan: [{ name: 'canary', selector: { matchLabels: { tier: 'shop' } } }] as Wave[] },
      /spec\.rollout/,
    ],
    ['labels that cannot be read', { status: statusOf(admitted), knownLabels: undefined }, /labels/],
    ['nothing but null', { status: null }, /status\.rollout/],
    ['something else than a commit', { status: statusOf({ ...admitted, commit: '--x' }) }, /status\.rollout/],
    ['no admission', { status: { ...statusOf(), admission: undefined } }, /status\.rollout/],
    ['something else than a stable commit', { status: statusOf({ stableCommit: '' }) }, /status\.rollout/],
    ['something else than a revision', { status: statusOf({ stableRevision: '../../x' }) }, /status\.rollout/],
    ['an odd boundary', { status: statusOf({ admission: admission('zzz') }) }, /status\.rollout/],
    ['odd members', { status: statusOf({ admission: admission('all', 'all', 'g') }) }, /status\.rollout/],
    [
      'a release without a name, from an earlier controller',
      { status: omit(statusOf(), 'release', 'stableRelease') },
      / 2{32} .*undefined has not been read/,
    ],
    ['a release that has not been read', { status: statusOf() }, / 2{32} .*app-6 has not been read/],
    [
      'an admitted release that has not been read',
      { status: statusOf({ ...admitted, revision: OTHER }) },
      / 333333333333.*app-7 has not been read/,
    ],
  ];
  for (const [name, given, message] of cases) {
    test(name, () => {
      const verdict = judge(given);
      assert.ok(verdict.kind === 'unsettled', verdict.kind);
      assert.match(verdict.message, message);
      assert.equal(verdict.startPolicy, undefined, 'the policy of the last sync holds');
    });
  }

  test('a rollout that is complete with a release other than the stable one admits no gateway', () => {
    assert.deepEqual(summaryOf(intentOf({ status: statusOf({ phase: 'Complete' }) })), STABLE);
  });
});

suite('while changes go in waves, the agent takes from the current spec.sync', () => {
  const before = found(syncOf('old', { syncPeriod: 5, dryRun: false, paused: true }, { startPolicy: 'useLastGood' }));

  test('a pause at once, even before a commit is resolved', () => {
    for (const given of [
      { paused: true },
      { sync: syncOf('new', { paused: true }) },
      { sync: syncOf('new', {}, { paused: true }) },
    ]) {
      for (const status of [statusOf(), undefined]) assert.equal(judge({ ...given, status, before }).kind, 'paused');
    }
  });

  test('dryRun, and everything else from the revision', () => {
    for (const dryRun of [true, false]) {
      const { profile } = intentOf({ status: statusOf(), sync: syncOf('new', { dryRun, syncPeriod: 60 }), before });
      assert.deepEqual([profile.dryRun, profile.paused], [dryRun, false]);
      assert.deepEqual([profile.syncPeriod, profile.startPolicy], [5, 'useLastGood']);
    }
  });

  test('nothing about a deleted profile, which stays as cautious as before, or as the defaults are', () => {
    const gone = (defaults: SyncInput['defaults'] = {}) =>
      gatewaySpecOf({ sync: { defaults, profiles: { other: { mappings: [mapping('x')] } } } }).sync;
    const status = statusOf();
    assert.equal(judge({ status, sync: gone(), before }).kind, 'paused');
    assert.equal(judge({ status, sync: gone({ paused: true }), before: found(syncOf('old')) }).kind, 'paused');
    const dry = found(syncOf('old', { dryRun: true }));
    assert.equal(intentOf({ status, sync: gone(), before: dry }).profile.dryRun, true);
    assert.equal(intentOf({ status, sync: gone({ dryRun: true }) }).profile.dryRun, true);
    assert.deepEqual(summaryOf(intentOf({ status, sync: gone() })), STABLE);
  });

  test('nothing about a profile that the revision lacks: it counts as missing', () => {
    const verdict = judge({ status: statusOf(), before: found({ profiles: { other: { mappings: [] } } }) });
    assert.ok(verdict.kind === 'refused' && verdict.startPolicy === 'requireSync');
    assert.match(verdict.message, / default, .* other.* 222222222222/);
  });
});
