import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { RolloutObservation } from '../../../../../controller/reconcile/decide/observation.ts';
import { rolloutInput } from '../../../../../controller/reconcile/decide/observe-rollout.ts';
import { rollOut } from '../../../../../controller/reconcile/decide/roll-out.ts';
import { type ObservedGatewaySync, projectGatewaySync } from '../../../../../controller/watch/observed-gateway-sync.ts';
import type { ObservedPod } from '../../../../../controller/watch/observed-pod.ts';
import type { ObservedRelease } from '../../../../../controller/watch/observed-release.ts';
import type { GatewaySyncStatus } from '../../../../../shared/api/gateway-sync-status.ts';
import type { RolloutSpec, RolloutStatus } from '../../../../../shared/api/rollout.ts';
import type { SyncReportStatus } from '../../../../../shared/api/sync-report.ts';
import { releaseNumber } from '../../../../../shared/domain/rollout/release-name.ts';
import { releaseOf, stableOf } from '../../../../../shared/domain/rollout/releases.ts';
import { planOf, rolloutKey } from '../../../../../shared/domain/rollout/waves.ts';
import { gatewaySyncOf, rolloutStatusOf, type SpecInput } from '../../../../support/objects.ts';
import { runningPod as pod } from '../../support/observed-pod.ts';
import { observedReleaseOf, withStored } from '../../support/observed-release.ts';

const now = Date.parse('2026-11-22T12:00:00Z');
const stable = 'a'.repeat(40);
const newest = 'b'.repeat(40);
const frozen = [{ kind: 'Deny' as const }];

/** A resource in the cache. */
const resourceWith = (
  spec: Partial<SpecInput>,
  status: GatewaySyncStatus,
  annotations: Record<string, string> = {},
): ObservedGatewaySync =>
  projectGatewaySync(
    gatewaySyncOf({
      metadata: { namespace: 'ns', name: 'app', uid: 'app', resourceVersion: '1', generation: 1, annotations },
      spec,
      status,
    }),
    undefined,
    0,
  );

interface Fleet extends Omit<RolloutObservation, 'releases'> {
  /** If omitted, those that the status names. */
  releases?: ObservedRelease[];
}

/** The result of a step in which the git server has answered. */
function rollOutFor(followed: GatewaySyncStatus, { releases, ...fleet }: Fleet, canStore = true) {
  const moment = { now, isResolved: true, isAnswered: true };
  const before = releases ?? releasesIn(fleet.gatewaySync.status);
  const decide = (stored: ObservedRelease[]) => rollOut(followed, { ...fleet, releases: stored }, moment);
  return canStore ? withStored(decide, before) : decide(before);
}

/** The releases that a status names. */
function releasesIn({ rollout }: GatewaySyncStatus): ObservedRelease[] {
  if (!rollout) return [];
  const { nextCommit, nextRevision = '', nextRelease } = rollout;
  const next = { commit: nextCommit ?? '', ref: 'main', revision: nextRevision, release: nextRelease };
  const all = [stableOf(rollout), releaseOf(rollout), next].filter((each) => each !== undefined);
  const named = new Map(all.map((each) => [each.release, each]));
  return [...named.values()].flatMap(({ release, commit, revision }) => {
    const number = release && releaseNumber(release, 'app');
    return number ? [observedReleaseOf(number, commit, { revision })] : [];
  });
}

interface Case {
  rollout?: RolloutSpec;
  paused?: boolean;
  /** In the default profile. */
  destination?: string;
  annotations?: Record<string, string>;
  releases?: ObservedRelease[];
  /** False while no release can be stored. */
  canStore?: boolean;
}

/** The next status, with a followed commit. */
function next(before: GatewaySyncStatus, what: Case, lastSyncCommit = newest) {
  const { rollout = {}, annotations = {}, paused = false } = what;
  const { destination = 'b', releases, canStore } = what;
  const sync = { profiles: { default: { mappings: [{ source: 'a', destination }] } } };
  const spec = { rollout: { previewTimeout: '0s', ...rollout }, sync, paused };
  const status = { state: 'Synced' as const };
  return rollOutFor(
    { observedGeneration: 1, lastSyncCommit, lastSyncRef: 'main' },
    {
      gatewaySync: resourceWith(spec, before, annotations),
      pods: [pod],
      reportOf: () => ({ podUID: 'pod', status }),
      ...(releases && { releases }),
    },
    canStore,
  );
}

/** A completed rollout in this case. */
const complete = (what: Case): GatewaySyncStatus => next({}, what, stable).fields;

const waves = [{ name: 'all', approval: true }];
const { revision = '' } = complete({}).rollout ?? {};
const gated = { rollout: { waves } };
const approval = { changes: 'none', by: 'anna', at: '2026-11-22T12:00:00Z' };

/** The releases that a status names, of which the one that waits is approved, or otherwise the one in progress. */
function approvedIn(status: GatewaySyncStatus, more: Partial<ObservedRelease> = {}): ObservedRelease[] {
  const { nextRelease, release = '' } = status.rollout ?? {};
  return releasesIn(status).map((each) =>
    each.release === (nextRelease ?? release) ? { ...each, approvals: [approval], ...more } : each,
  );
}

/** A step after the approval of what waits. */
function approved(what: Case, waiting = next(complete(what), what).fields) {
  return next(waiting, { ...what, releases: approvedIn(waiting) });
}

suite('a rollout waits', () => {
  for (const [what, step, expected] of [
    ['its gateways only', () => next(complete({}), {}), undefined],
    ['a user who approves the first wave', () => next(complete(gated), gated), 'Approval'],
    ['its gateways only, once it is approved', () => approved(gated), undefined],
    ['a window', () => approved({ rollout: { waves, windows: frozen } }), 'Window'],
  ] as const) {
    test(`for ${what}`, () => {
      assert.equal(step().fields.rollout?.waitsFor, expected);
    });
  }
});

suite('an approval', () => {
  test('applies to its release, not to another spec.sync with the same commit', () => {
    const begun = approved(gated).fields;
    assert.deepEqual([begun.rollout?.phase, begun.rollout?.commit], ['Progressing', newest]);
    const edited = { ...gated, destination: 'elsewhere' };
    const waiting = next(begun, { ...edited, releases: approvedIn(begun) }).fields;
    assert.deepEqual([waiting.rollout?.nextCommit, waiting.rollout?.waitsFor], [newest, 'Approval']);
    const again = approved(edited, waiting).fields.rollout;
    assert.deepEqual(
      [again?.release, again?.waitsFor, again?.nextCommit],
      [waiting.rollout?.nextRelease, undefined, undefined],
    );
  });

  test('has no effect after a simultaneous edit of spec.sync', () => {
    const waiting = next(complete(gated), gated).fields;
    const releases = approvedIn(waiting);
    const both = next(waiting, { ...gated, destination: 'elsewhere', releases }).fields.rollout;
    assert.deepEqual([both?.commit, both?.nextCommit, both?.waitsFor], [stable, newest, 'Approval']);
    assert.equal(next(waiting, { ...gated, releases }).fields.rollout?.commit, newest);
  });

  test('survives a lost status, unless its release is of another repository, and so gets another number', () => {
    const waiting = next(complete(gated), gated).fields;
    const after = (more: Partial<ObservedRelease>) => {
      const [first, ...others] = approvedIn(waiting, more);
      const releases = [{ ...(first as ObservedRelease), result: 'Complete' as const }, ...others];
      return next({}, { ...gated, releases }).fields;
    };
    assert.deepEqual([after({}).rollout?.commit, after({}).rollout?.waitsFor], [newest, undefined]);
    const other = after({ repo: 'https://git.test/other.git' });
    const { commit, nextRelease, waitsFor } = other.rollout ?? {};
    assert.deepEqual([commit, nextRelease, waitsFor], [stable, 'app-3', 'Approval']);
    assert.equal(approved(gated, other).fields.rollout?.release, 'app-3');
  });

  test('applies to a release that waits even if the repository is replaced by another one with the same commit', () => {
    const waiting = next(complete(gated), gated).fields;
    const releases = approvedIn(waiting, { repo: 'https://git.test/former.git' });
    assert.equal(next(waiting, { ...gated, releases }).fields.rollout?.release, 'app-2');
  });
});

test('a command waits while the resource is paused', () => {
  const before = next(complete({}), {}).fields;
  const annotations = { 'sync.io/rollback': 'previous' };
  const held = next(before, { paused: true, annotations }).fields;
  assert.deepEqual(held.rollout, before.rollout);
  assert.equal(next(held, { annotations }).fields.rollout?.phase, 'RollingBack');
});

test('a rollback order names a release, even if others have the same commit', () => {
  const { rollout } = complete({});
  const named = { ...rollout, release: 'app-3', stableRelease: 'app-3' } as RolloutStatus;
  const other = (number: number, digit: string) =>
    observedReleaseOf(number, stable, { revision: digit.repeat(32), result: 'Complete' });
  const releases = [other(1, 'e'), other(2, 'f'), observedReleaseOf(3, stable, { revision })];
  const order = (value: string) =>
    next({ rollout: named }, { releases, annotations: { 'sync.io/rollback': value } }, stable).fields.rollout;
  const back = order('app-1');
  assert.deepEqual(
    [back?.phase, back?.stableCommit, back?.stableRevision, back?.stableRelease],
    ['RollingBack', stable, 'e'.repeat(32), 'app-1'],
  );
  for (const value of ['app-3', 'app-4', 'app-01', '1', stable, `${stable}/${'e'.repeat(32)}`]) {
    const ignored = order(value);
    assert.deepEqual([ignored?.phase, ignored?.handled?.ignored], ['Complete', ['rollback']], value);
  }
});

test('all commands are recorded with their values', () => {
  const annotations = { 'sync.io/rollback': 'x', 'sync.io/retry-rollout': 'y' };
  const { rollout } = next(complete({}), { annotations }).fields;
  assert.deepEqual(rollout?.handled, {
    rollback: 'x',
    retry: 'y',
    ignored: ['retry-rollout', 'rollback'],
  });
  assert.equal(next({ rollout } as GatewaySyncStatus, {}).fields.rollout?.handled, undefined);
});

test('each gateway should have the commit that it was admitted for', () => {
  const before = complete(gated);
  assert.equal(next(before, gated).wantedOf(pod).commit, stable);
  assert.equal(approved(gated).wantedOf(pod).commit, newest);
});

suite("while the newest release isn't stored", () => {
  const canStore = false;

  test('no rollout begins', () => {
    assert.deepEqual(next({}, { canStore }).fields, {});
    const { rollout } = next(complete({}), { canStore }).fields;
    assert.deepEqual([rollout?.phase, rollout?.commit, rollout?.nextCommit], ['Complete', stable, undefined]);
  });

  test('a rollback continues', () => {
    const before = next(complete({}), {}).fields;
    assert.equal(before.rollout?.phase, 'Progressing');
    const ordered = { canStore, annotations: { 'sync.io/rollback': 'previous' } };
    const { rollout } = next(before, ordered).fields;
    assert.deepEqual([rollout?.phase, rollout?.stableCommit], ['RollingBack', stable]);
  });
});

suite('a step of a rollout takes into account', () => {
  interface World {
    rollout?: object;
    status?: GatewaySyncStatus;
    pod?: Partial<ObservedPod>;
    /** Number of gateways. */
    size?: number;
    report?: Partial<SyncReportStatus>;
    rest?: string;
    verify?: object;
  }
  const inputOf = ({ rollout = {}, status = {}, verify, rest, size = 1, ...said }: World) => {
    const orders = { 'sync.io/rollback': 'previous', 'sync.io/retry-rollout': 'd' };
    const gatewaySync = resourceWith({ rollout, ...(verify && { gateway: { verify } }) }, status, orders);
    const { report } = said;
    const observation = {
      gatewaySync,
      pods: [...Array.from({ length: size }, () => ({ ...pod, ...said.pod })), { ...pod, name: 'ended', live: false }],
      releases: [
        labelled(1, 'Complete'),
        labelled(2, 'Complete'),
        { ...labelled(3, 'Rejected'), approvals: [approval] },
      ],
      reportOf: () => report && { podUID: 'pod', status: { state: 'Synced' as const, ...report } },
    };
    const pauseOf = (profile: string) => (profile === rest ? 'Paused' : undefined);
    return rolloutInput({ observation, newest: undefined, pauseOf, now });
  };
  const labelled = (number: number, result: 'Complete' | 'Rejected') =>
    observedReleaseOf(number, stable, { revision: `r${number}`, result, completedAt: number });
  const ofLabel = { name: 'b', selector: { matchLabels: { x: 'y' } } };
  const began = Date.parse('2026-11-22T11:00:00Z');
  const unknown = { report: undefined, problem: undefined };

  test('living gateways, user commands, and the settings', () => {
    const rules = { waves: [{ name: 'a', soak: '10m' }, ofLabel] };
    const status = { lastSyncCommit: stable, lastSyncRef: 'v1' };
    const { window, spec, ...rest } = inputOf({ rollout: rules, status });
    const release = (number: number) => {
      const name = `app-${number}`;
      return { commit: stable, ref: 'main', revision: `r${number}`, release: name };
    };
    assert.deepEqual(
      spec.waves?.map(({ name }) => name),
      ['a', 'b'],
    );
    assert.equal(window.isOpen, true);
    assert.deepEqual(rest, {
      wavesHash: planOf(rules.waves),
      gateways: [
        {
          name: 'gateway-0',
          key: rolloutKey('gateway-0', 'gateway-0'),
          fits: [true, false],
          createdAt: began,
          notReadySince: undefined,
          readySince: began,
          crashedAt: undefined,
          restartedAt: undefined,
          runsSince: undefined,
          ...unknown,
          isUnstarted: false,
          isPaused: false,
        },
      ],
      newest: undefined,
      delivered: { commit: stable, ref: 'v1', revision: rest.delivered?.revision },
      completed: [
        { ...release(3), isRejected: true },
        { ...release(2), isRejected: false },
        { ...release(1), isRejected: false },
      ],
      lastComplete: release(2),
      rejected: [release(3)],
      approved: rest.approved?.filter(({ release, approvals }) => release === 'app-3' && approvals?.includes(approval)),
      rollback: 'previous',
      retry: 'd',
      previewIntervalMs: 60_000,
      previewMs: 30_100,
      deadlineMs: 900_000,
      soakMs: [600_000, 0],
      now,
    });
  });

  test('its own times and durations, and a delivered commit without a ref', () => {
    const input = inputOf({ rollout: { progressDeadline: '5m' }, status: { lastSyncCommit: newest } });
    assert.equal(input.deadlineMs, 300_000);
    assert.equal(input.delivered?.ref, newest);
    assert.equal(inputOf({}).delivered, undefined);
  });

  const ran = { isUnstarted: true, hasAgentRun: true };
  const verify = { requests: [{ path: '/' }] };
  const states: [name: string, World, expected: object][] = [
    ['rests', { rest: 'default' }, { isPaused: true }],
    ['has the labels of a wave', { rollout: { waves: [ofLabel] }, pod: { labels: { x: 'y' } } }, { fits: [true] }],
    ['has not started', { pod: { isUnstarted: true } }, { isUnstarted: true }],
    ['waits for its agent, which has not reported', { pod: ran }, { isUnstarted: false }],
    ['does not start, though its agent has run', { pod: ran, report: {} }, { isUnstarted: true, report: 'healthy' }],
    ['is synced', { report: {} }, { report: 'healthy' }],
    ['waits', { report: { state: 'Pending' } }, { report: 'busy' }],
    ['is a standby', { report: { state: 'Paused', reason: 'Standby' } }, { isPaused: true, report: 'busy' }],
    ['has failed', { report: { hasFailed: true } }, { report: 'failed' }],
    ['did not pass', { report: { verification: 'Failed' } }, { report: 'failed' }],
    ['is being verified', { report: { verification: 'Running' } }, { report: 'busy' }],
    ['was not verified, and has to be', { verify, report: {} }, { report: 'busy' }],
    ['was verified, and had to be', { verify, report: { verification: 'Passed' } }, { report: 'healthy' }],
  ];
  for (const [name, world, expected] of states) {
    test(`a gateway that ${name}`, () => {
      const [gateway] = inputOf(world).gateways;
      const { fits, isUnstarted, isPaused, report } = gateway ?? {};
      const plain = { fits: [], isUnstarted: false, isPaused: false, report: undefined };
      assert.deepEqual({ fits, isUnstarted, isPaused, report: report?.state }, { ...plain, ...expected });
    });
  }

  test('the problem of a gateway, in the words of its agent and of its pod', () => {
    const problemOf = (world: World) => inputOf(world).gateways[0]?.problem;
    const report = { state: 'Error', message: 'the data volume is full' } as const;
    const pod = { waiting: 'gateway: CrashLoopBackOff' };
    assert.equal(problemOf({ report, pod }), 'the data volume is full; gateway: CrashLoopBackOff');
    assert.equal(problemOf({ report: {} }), undefined);
  });

  test('the problem of a gateway, but not one with an earlier commit', () => {
    const status = { rollout: rolloutStatusOf({ number: 3 }) };
    const problemOf = (report: World['report']) =>
      inputOf({ status, report: { message: 'words', ...report } }).gateways[0]?.problem;
    for (const state of ['Error', 'Synced'] as const) assert.equal(problemOf({ rollout: 3, state }), 'words');
    assert.equal(problemOf({ rollout: 2, state: 'Error' }), undefined);
    assert.equal(problemOf({ state: 'Synced' }), undefined, 'it has not been let in, and has the stable release');
    for (const state of ['Error', 'Pending'] as const)
      assert.equal(problemOf({ state }), 'words', 'it may be what keeps it from taking part');
  });

  test("a report's information about rollouts", () => {
    const said = { rollout: 3, commit: newest, revision: 'c'.repeat(32) };
    const { rollout, commit, revision } = said;
    const reported = (report: NonNullable<World['report']>) => inputOf({ report }).gateways[0]?.report;
    assert.deepEqual(reported(said), { rollout, commit, revision, state: 'healthy' });
    const fabricated = { ...said, commit: '--upload-pack=x', revision: '../x' };
    assert.deepEqual(reported(fabricated), { rollout, commit: undefined, revision: undefined, state: 'healthy' });
  });

  test("a report's preview, and the commit of a gateway that was unchanged", () => {
    const previewed = (report: NonNullable<World['report']>) => inputOf({ report }).gateways[0];
    assert.equal(previewed({})?.preview, undefined);
    const preview = { commit: newest, revision: 'r', digest: 'd'.repeat(64), added: 1, modified: 2, deleted: 3 };
    const expected = { commit: newest, revision: 'r', digest: 'd'.repeat(64), changesNothing: false, files: 6 };
    const texts = { failure: undefined, everyCommit: undefined };
    assert.deepEqual(previewed({ preview })?.preview, { ...expected, ...texts });
    const known = { failure: 'no value', everyCommit: 'a.json' };
    const failing = { ...preview, ...known };
    assert.deepEqual(previewed({ preview: failing, unchangedAt: newest })?.preview, { ...expected, ...known });
    assert.equal(previewed({ preview, unchangedAt: newest })?.preview?.changesNothing, true);
    assert.equal(previewed({ preview, unchangedAt: stable })?.preview?.changesNothing, false);
    for (const digest of ['all', '', 'd'.repeat(63), 'D'.repeat(64)])
      assert.equal(previewed({ preview: { ...preview, digest }, unchangedAt: newest })?.preview, undefined);
    const noted = { commit: newest, revision: 'r', digest: '', changesNothing: true, files: 0 };
    assert.deepEqual(previewed({ commit: newest, revision: 'r', unchangedAt: newest })?.preview, noted);
  });

  test('the time to wait for previews, which grows with the fleet', () => {
    const waitOf = (previewTimeout: string | undefined, size = 1) =>
      inputOf({ size, rollout: previewTimeout === undefined ? {} : { previewTimeout } }).previewMs;
    assert.deepEqual([waitOf(undefined), waitOf('0s'), waitOf('1m')], [30_100, 0, 60_000]);
    assert.deepEqual([waitOf(undefined, 1_499), waitOf(undefined, 1_501)], [179_900, 180_000], 'at most 3m');
  });
});

suite('the result of a rollout', () => {
  test('is empty without spec.rollout: all gateways should have the newest commit', () => {
    const gatewaySync = resourceWith({}, complete({}));
    const observation = { gatewaySync, pods: [], reportOf: () => undefined };
    const { wantedOf, ...result } = rollOutFor({ lastSyncCommit: newest }, observation);
    assert.deepEqual(result, { fields: {}, againInMs: undefined, isHeldBack: false, toStore: [] });
    assert.deepEqual(wantedOf(pod), { commit: newest });
  });

  suite('is reported to the request for the commit', () => {
    const request = { ref: 'v2', outcome: 'Applied', id: '1' };
    const target = { ref: 'v2', source: 'Request' };
    const failing = (state: GatewaySyncStatus) =>
      ({ ...state, rollout: { ...state.rollout, failures: ['gateway-0'] } }) as GatewaySyncStatus;
    interface Asked {
      target?: object;
      rollback?: string;
      releases?: ObservedRelease[];
    }
    /** The request in the status after another reconcile. */
    const requestAfter = (before: object, lastRequest: object | undefined, asked: Asked = {}) => {
      const { rollback, releases = releasesIn(before) } = asked;
      const annotations = rollback === undefined ? {} : { 'sync.io/rollback': rollback };
      const gatewaySync = resourceWith({ rollout: {} }, before, annotations);
      const observation = { gatewaySync, pods: [pod], reportOf: () => undefined, releases };
      const followed = { observedGeneration: 1, lastSyncCommit: newest, lastSyncRef: 'v2', lastRequest };
      const { fields } = rollOutFor({ ...followed, target: asked.target ?? target } as GatewaySyncStatus, observation);
      return { phase: fields.rollout?.phase, ...fields.lastRequest };
    };
    const begun = next(complete({}), {}).fields;
    const { rollout: { revision = '' } = {} } = begun;
    const completed = (number: number, commit: string, time: string) =>
      observedReleaseOf(number, commit, { revision, result: 'Complete', completedAt: Date.parse(time) });
    const releases = [completed(1, stable, '2026-11-22T10:00:00Z'), completed(2, newest, '2026-11-22T11:30:00Z')];
    const wasComplete = {
      lastRequest: request,
      targetTime: '2026-11-22T11:00:00Z',
      rollout: {
        ...begun.rollout,
        phase: 'Complete',
        stableCommit: newest,
        stableRef: 'v2',
        stableRevision: revision,
        stableRelease: 'app-2',
      },
    };

    const back = next(wasComplete as never, { releases, annotations: { 'sync.io/rollback': 'previous' } }).fields;
    const retried = next(back, { releases, annotations: { 'sync.io/retry-rollout': newest } }).fields;

    test('if it stopped, with a message that stays true', () => {
      const before = { ...failing(begun), lastRequest: request };
      const { message, ...result } = requestAfter(before, request);
      assert.deepEqual(result, { phase: 'Stopped', ...request, outcome: 'Failed' });
      assert.equal(message, `commit ${newest} failed on gateway-0`);
      const unchanged = { phase: 'Stopped' };
      for (const other of [{ source: 'Push' }, { ref: 'v3' }])
        assert.deepEqual(requestAfter(before, request, { target: { ...target, ...other } }), unchanged);
      assert.deepEqual(requestAfter(before, { ...request, outcome: 'Superseded' }), unchanged);
      assert.deepEqual(requestAfter(before, undefined), unchanged);
    });

    test('if it was chosen for a range, however the request names it', () => {
      const more = { target: { ref: 'v1.4.2', range: '~1.4', source: 'Spec' }, rollback: 'previous' };
      for (const ref of ['refs/tags/v1.4.2', '1.4.2', newest, '~1.4']) {
        const asked = { ...request, ref };
        const { outcome } = requestAfter({ ...begun, lastRequest: asked }, asked, more) as typeof request;
        assert.equal(outcome, 'Failed', ref);
      }
      const other = { ...request, ref: 'refs/tags/v1.4.1' };
      const result = requestAfter({ ...begun, lastRequest: other }, other, more);
      assert.deepEqual(result, { phase: 'RollingBack' });
    });

    test('if a user rolled it back before all gateways had the commit', () => {
      const before = { ...begun, lastRequest: request };
      const { message, ...result } = requestAfter(before, request, { rollback: 'previous' });
      assert.deepEqual(result, { phase: 'RollingBack', ...request, outcome: 'Failed' });
      assert.match(message ?? '', /^commit b{40} /);
    });

    test('but not if all gateways had the commit once, whatever follows', () => {
      assert.deepEqual(requestAfter(wasComplete, request, { releases, rollback: 'previous' }), {
        phase: 'RollingBack',
      });
      const { targetTime } = wasComplete;
      assert.deepEqual(requestAfter({ ...back, lastRequest: request, targetTime }, request, { releases }), {
        phase: 'RollingBack',
      });
      assert.equal(retried.rollout?.phase, 'Progressing');
      const failed = { ...failing(retried), lastRequest: request, targetTime };
      assert.deepEqual(requestAfter(failed, request, { releases }), { phase: 'Stopped' });
      const edited = { ...wasComplete, rollout: { ...wasComplete.rollout, stableRevision: 'earlier' } };
      const again = { ...edited, rollout: { ...edited.rollout, phase: 'Progressing', wave: 'rest' } };
      assert.deepEqual(requestAfter(failing(again as never), request, { releases }), { phase: 'Stopped' });
    });

    test('if the request repeats a commit that was rolled back before', () => {
      const other = { ...request, id: '2' };
      const { message, ...result } = requestAfter({ ...back, lastRequest: request }, other, { releases });
      assert.deepEqual(result, { phase: 'RollingBack', ...other, outcome: 'Failed' });
      assert.ok(message?.endsWith(`set sync.io/retry-rollout: ${newest}`));
    });

    test('if it fails, although all gateways had the commit before the request was repeated', () => {
      const failed = { ...failing(retried), lastRequest: request, targetTime: '2026-11-22T11:45:00Z' };
      assert.equal(requestAfter(failed, request, { releases }).outcome, 'Failed');
    });
  });

  test('is judged again soon while time can advance it, and now and then while it waits for users', () => {
    const rollout = { waves: [{ name: 'all', selector: { matchLabels: { a: 'b' } } }] };
    const before = complete({ rollout });
    assert.equal(next(before, { rollout }).againInMs, 10_000);
    const frozen = { ...rollout, windows: [{ kind: 'Deny' as const }] };
    assert.equal(next(before, { rollout: frozen }).againInMs, 30_000);
    assert.equal(next(before, { rollout }, stable).againInMs, undefined);
    const begun = approved(gated).fields;
    const isRolledBack = { ...gated, annotations: { 'sync.io/rollback': 'previous' } };
    assert.equal(next(begun, isRolledBack).againInMs, 10_000);
    // While a newer commit waits for its approval, gateways of the one in progress can still fail.
    const { fields, againInMs } = next(begun, gated, 'c'.repeat(40));
    assert.deepEqual([fields.rollout?.phase, fields.rollout?.waitsFor, againInMs], ['Progressing', 'Approval', 10_000]);
  });
});
