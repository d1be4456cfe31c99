import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { rollOut } from '../../../../../controller/reconcile/decide/roll-out.ts';
import { projectGatewaySync } from '../../../../../controller/watch/observed-gateway-sync.ts';
import type { ObservedRelease } from '../../../../../controller/watch/observed-release.ts';
import type { GatewaySyncStatus } from '../../../../../shared/api/gateway-sync-status.ts';
import type { RolloutStatus } from '../../../../../shared/api/rollout.ts';
import { gatewaySyncOf } from '../../../../support/objects.ts';
import { observedPod as pod } from '../../support/observed-pod.ts';
import { observedReleaseOf } from '../../support/observed-release.ts';

const now = Date.parse('2026-11-22T12:00:00Z');
const [s = '', a = '', b = ''] = ['5', 'a', 'b'].map((digit) => digit.repeat(40));

interface Given {
  status?: GatewaySyncStatus;
  /** The newest commit. */
  commit?: string;
  /** The followed ref. */
  ref?: string;
  releases?: ObservedRelease[];
  annotations?: Record<string, string>;
  paused?: boolean;
  history?: number;
  /** In the mapping, so that another one is another revision. */
  destination?: string;
}

/** A resource with one gateway. */
function resourceOf({ status = {}, annotations = {}, paused = false, history = 10, destination = 'b' }: Given) {
  const sync = { profiles: { default: { mappings: [{ source: 'a', destination }] } } };
  const metadata = { namespace: 'ns', name: 'app', uid: 'app', resourceVersion: '1', generation: 1, annotations };
  const spec = { rollout: { previewTimeout: '0s' }, sync, paused, history };
  return projectGatewaySync(gatewaySyncOf({ metadata, spec, status }), undefined, 0);
}

const revisionOf = (given: Given = {}): string => resourceOf(given).spec.revision ?? '';
const revision = revisionOf();
const stored = (number: number, commit: string, more: Partial<ObservedRelease> = {}) =>
  observedReleaseOf(number, commit, { revision, ...more });
const complete = { result: 'Complete', completedAt: 1_000 } as const;
const rejected = { result: 'Rejected', completedAt: 1_000 } as const;

/** Decides once: nothing is stored. */
function decide(given: Given) {
  const { commit = s, ref = 'main', releases = [] } = given;
  const followed = { observedGeneration: 1, lastSyncCommit: commit, lastSyncRef: ref };
  const observation = { gatewaySync: resourceOf(given), pods: [pod], reportOf: () => undefined, releases };
  const { fields, toStore, isHeldBack, wantedOf } = rollOut(followed, observation, {
    now,
    isResolved: true,
    isAnswered: true,
  });
  return { rollout: fields.rollout, missing: toStore.map((each) => each.commit), toStore, isHeldBack, wantedOf };
}

/** The status of a complete rollout, whose release is stored under a number. */
function completeStatus(number: number, commit: string): GatewaySyncStatus {
  const { rollout } = decide({ commit, releases: [stored(number, commit)] });
  assert.deepEqual([rollout?.phase, rollout?.stableRelease], ['Complete', `app-${number}`]);
  return { rollout: rollout as RolloutStatus };
}

suite('the first rollout', () => {
  const status = { lastSyncCommit: s, lastSyncRef: 'main' };

  test('waits until the delivered and the newest release are stored, in this order', () => {
    const { rollout, missing, toStore, isHeldBack, wantedOf } = decide({ status, commit: a });
    assert.deepEqual([rollout, missing, isHeldBack], [undefined, [s, a], true]);
    assert.ok(toStore.every((each) => each.revision === revision && each.release === undefined));
    assert.equal(wantedOf(pod).commit, undefined);
  });

  test('waits for the newest release, and delivers the other one in the meantime', () => {
    const { rollout, missing, isHeldBack } = decide({ status, commit: a, releases: [stored(1, s)] });
    assert.deepEqual([rollout?.phase, rollout?.commit, rollout?.stableRelease], ['Complete', s, 'app-1']);
    assert.deepEqual([missing, isHeldBack], [[a], true]);
  });

  test('waits for the delivered release, without which no rollback is possible', () => {
    const { rollout, missing, isHeldBack } = decide({ status, commit: a, releases: [stored(1, a)] });
    assert.deepEqual([rollout, missing, isHeldBack], [undefined, [s], true]);
  });

  test('begins when both are stored', () => {
    const releases = [stored(1, s), stored(2, a)];
    const { rollout, missing, isHeldBack } = decide({ status, commit: a, releases });
    assert.deepEqual([rollout?.release, rollout?.stableRelease, rollout?.phase], ['app-2', 'app-1', 'Progressing']);
    assert.deepEqual([missing, isHeldBack], [[], false]);
  });

  test('needs one release if the newest one is delivered', () => {
    assert.deepEqual(decide({ status }).missing, [s]);
    assert.deepEqual(decide({}).missing, [s]);
  });

  test('stores nothing while the resource is paused', () => {
    assert.deepEqual(decide({ status, commit: a, paused: true }).missing, []);
  });
});

suite('a stored release', () => {
  const status = completeStatus(1, s);

  test('keeps its ref, with which it was previewed, if another ref has its commit by now', () => {
    const releases = [stored(1, s, complete), stored(2, a, { ref: 'main' })];
    const { rollout } = decide({ status, commit: a, ref: 'other', releases });
    assert.deepEqual([rollout?.release, rollout?.ref], ['app-2', 'main']);
  });

  test('that a newer one replaced while it waited gets a new number, and so no earlier approval, when it returns', () => {
    const waiting: RolloutStatus = { ...(status.rollout as RolloutStatus), nextCommit: a, nextRevision: revision };
    const replacing = { rollout: { ...waiting, nextCommit: b, nextRelease: 'app-3' } };
    const releases = [stored(1, s, complete), stored(2, a, { phase: 'Waiting' }), stored(3, b)];
    const { missing, rollout } = decide({ status: replacing, commit: a, releases });
    assert.deepEqual([missing, rollout?.commit], [[a], s]);
    const again = decide({ status: replacing, commit: a, releases: [...releases, stored(4, a)] });
    assert.equal(again.rollout?.release, 'app-4');
  });

  test('that no rollout has named yet is used', () => {
    const { missing, rollout } = decide({ status, commit: a, releases: [stored(1, s, complete), stored(2, a)] });
    assert.deepEqual([missing, rollout?.release], [[], 'app-2']);
  });

  test('is required before a newer one waits or begins', () => {
    const { rollout, missing, isHeldBack } = decide({ status, commit: a, releases: [stored(1, s, complete)] });
    assert.deepEqual([rollout?.commit, rollout?.nextCommit, missing, isHeldBack], [s, undefined, [a], true]);
  });

  test('is stored again if it is the stable one, was deleted, and has the spec.sync of the resource', () => {
    const { rollout, missing } = decide({ status });
    assert.deepEqual([rollout?.phase, rollout?.stableCommit, missing], ['Complete', s, [s]]);
    const again = decide({ status, releases: [stored(2, s)] });
    assert.deepEqual([again.rollout?.release, again.rollout?.stableRelease], ['app-2', 'app-2']);
    assert.deepEqual(again.missing, []);
  });

  test('is stored again with the spec.sync of another release', () => {
    const edited = { status, destination: 'edited' };
    const releases = [stored(2, a), stored(3, s, { revision: revisionOf(edited) })];
    const { missing, toStore } = decide({ ...edited, releases });
    assert.deepEqual([missing, toStore[0]?.revision], [[s], revision]);
  });

  test('is gone for good if the spec.sync was edited, which holds back the newest release', () => {
    const edited = { status, commit: a, destination: 'edited' };
    const newest = stored(2, a, { revision: revisionOf(edited) });
    for (const releases of [[], [newest]]) {
      const { rollout, missing, isHeldBack } = decide({ ...edited, releases });
      assert.deepEqual([rollout?.phase, rollout?.commit, rollout?.nextCommit], ['Complete', s, undefined]);
      assert.deepEqual([missing, isHeldBack], [[], true]);
    }
  });
});

suite('results of releases', () => {
  const status = completeStatus(2, a);
  const previous = { 'sync.io/rollback': 'previous' };

  test('may be written late', () => {
    const late = [stored(1, s, complete), stored(2, a), stored(3, b)];
    const inTime = [stored(1, s, complete), stored(2, a, complete), stored(3, b)];
    for (const given of [{ commit: b }, { annotations: previous }]) {
      const { rollout } = decide({ ...given, status, releases: late });
      assert.deepEqual(rollout, decide({ ...given, status, releases: inTime }).rollout);
    }
  });

  test('decide where a rollback leads', () => {
    const releases = [stored(1, s, complete), stored(3, b, rejected), stored(4, a, complete)];
    const { rollout } = decide({ status: completeStatus(4, a), commit: a, releases, annotations: previous });
    assert.deepEqual([rollout?.phase, rollout?.stableRelease], ['RollingBack', 'app-1']);
  });

  test('are all that is left of a lost status', () => {
    const releases = [stored(1, s, complete), stored(2, a, complete), stored(3, b, rejected)];
    const { rollout, missing } = decide({ commit: b, releases });
    assert.deepEqual([rollout?.phase, rollout?.stableRelease, rollout?.nextRelease], ['Complete', 'app-2', 'app-3']);
    assert.deepEqual([rollout?.givenUp, rollout?.waitsFor, missing], [[`${b} ${revision}`], 'Retry', []]);
  });

  test('of another repository make no lost status again', () => {
    const releases = [stored(1, s, complete), stored(2, b, { ...complete, repo: 'https://other.example/app.git' })];
    assert.notEqual(decide({ status: {}, commit: a, releases: [...releases, stored(3, a)] }).rollout?.stableCommit, s);
  });

  test('decide which commits gateways keep', () => {
    const releases = [stored(1, s, complete), stored(2, a), stored(3, b)];
    assert.deepEqual(decide({ status, commit: a, releases }).rollout?.earlierCommits, [s]);
    const three = [stored(1, s, complete), stored(2, b, complete), stored(3, a)];
    assert.deepEqual(decide({ status, commit: a, releases: three, history: 1 }).rollout?.earlierCommits, [b]);
    assert.equal(decide({ status, commit: a, releases, history: 0 }).rollout?.earlierCommits, undefined);
  });
});
