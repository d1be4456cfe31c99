import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { PendingQuery, QueryResult } from '../../../../../controller/polling/query-result.ts';
import type { Observation } from '../../../../../controller/reconcile/decide/observation.ts';
import type { ObservedGatewaySync } from '../../../../../controller/watch/observed-gateway-sync.ts';
import type { GatewaySyncStatus } from '../../../../../shared/api/gateway-sync-status.ts';
import { omit } from '../../../../../shared/domain/text/objects.ts';
import { TransientError } from '../../../../../shared/errors.ts';
import { gatewaySpecOf } from '../../../../support/objects.ts';
import { observedPod as pod } from '../../support/observed-pod.ts';
import { observedReleaseOf } from '../../support/observed-release.ts';
import { decideFor as decideLater, resourceOf } from '../../support/requested-resource.ts';

const commit = 'a'.repeat(40);
const now = Date.parse('2026-01-01T00:00:00Z');

/** A resource at rest on a commit, with or without polling. */
function observed({ polling = true }: { polling?: boolean } = {}): ObservedGatewaySync {
  const resolved = { type: 'RefResolved', status: 'True' as const, reason: 'Resolved', message: '' };
  const resource = resourceOf({
    status: {
      observedGeneration: 1,
      observedRef: 'main',
      target: { ref: 'main', source: 'Spec' },
      lastSyncCommit: commit,
      conditions: [{ ...resolved, lastTransitionTime: '2026-01-01T00:00:00Z' }],
    },
  });
  return { ...resource, spec: gatewaySpecOf({ polling: { enabled: polling } }) };
}

/** The status and reason of a condition. */
function stateIn({ conditions }: GatewaySyncStatus, type: string): string | undefined {
  const condition = conditions?.find((candidate) => candidate.type === type);
  return condition && `${condition.status} ${condition.reason}`;
}

const decideFor = (
  gatewaySync: ObservedGatewaySync,
  query: QueryResult | PendingQuery | undefined,
  rest: Partial<Observation> = {},
  at: number = now,
) => decideLater(gatewaySync, { query, now: at, ...rest });

const lastGood = { refs: new Map([['refs/heads/main', commit]]) };
const refs: QueryResult = { kind: 'refs', ...lastGood };
const newer: QueryResult = { kind: 'refs', refs: new Map([['refs/heads/main', 'b'.repeat(40)]]) };
/** A request that waits. */
const asked = { ref: 'v1', id: '1', at: '2026-01-01T00:00:00.000Z', applied: false, seenAt: now };
const querying = { kind: 'querying', forMs: 60_000 } as const;
const unreachable = {
  kind: 'error' as const,
  error: new TransientError('the host is unreachable', { code: 'git.unreachable', reason: 'GitUnreachable' }),
  lastGood: undefined,
  retryAfterMs: 5_000,
};
/** A spec with a rollout, and its revision. */
const spec = { ...gatewaySpecOf(), rollout: {}, revision: 'r' };

suite('a git server that is unavailable', () => {
  const request = { ...observed(), request: asked };
  const push = { ...observed(), push: { ...asked, ref: 'refs/heads/main' } };
  for (const [when, waiting, answer, expected] of [
    ['by the next poll', observed(), unreachable, undefined],
    ['again, even without polling', observed({ polling: false }), unreachable, 5_000],
    ['again if a request waits for it', request, unreachable, 5_000],
    ['again if a push waits for it', push, unreachable, 5_000],
    ["again if the ref isn't resolved yet", { ...observed(), status: {} }, unreachable, 5_000],
    ['for a request only until it answers', request, refs, undefined],
    ['later if the resource has caused too many queries', observed(), { ...querying, retryAfterMs: 4_000 }, 4_000],
  ] as const)
    test(`is queried ${when}`, () => assert.equal(decideFor(waiting, answer).retryAfterMs, expected));
});

suite('while the git server is queried', () => {
  const asking = (forMs: number) => ({ kind: 'querying' as const, forMs });
  const requested = () => ({ ...observed(), request: asked });
  const fresh = () => ({ ...observed(), status: {} });

  test('a quick response is awaited, so that one write is enough', () => {
    for (const [gatewaySync, patience] of [
      [requested(), 1_000],
      [fresh(), 5_000],
      [{ ...observed(), status: { observedGeneration: -1 } }, 5_000],
    ] as const) {
      assert.equal(decideFor(gatewaySync, asking(0)).holdForMs, patience);
      assert.equal(decideFor(gatewaySync, asking(patience)).holdForMs, 0);
      assert.equal(decideFor(gatewaySync, refs).holdForMs, 0);
    }
  });

  test('a pod without its sidecar can be in a namespace without the label', () => {
    const { status } = decideFor(observed(), refs, { missing: [pod], isLabelRequired: true });
    assert.match(status.discoveredGateways?.[0]?.message ?? '', / sync\.io\/injection=enabled\b/);
  });

  test('a request waits, and Ready is Unknown', () => {
    const { status } = decideFor(requested(), asking(1_000));
    const { lastRequest, refResolutionStatus, lastSyncCommit } = status;
    assert.deepEqual([lastRequest?.outcome, refResolutionStatus, lastSyncCommit], ['Pending', 'Resolving', commit]);
    assert.equal(stateIn(status, 'Ready'), 'Unknown Resolving');
    assert.equal(stateIn(status, 'RefResolved'), 'True Resolved');
    const again = decideFor({ ...requested(), status }, asking(2_000));
    assert.deepEqual([again.holdForMs, again.status], [0, status], 'nothing more is written');
  });

  test('a new resource shows its gateways', () => {
    const { status } = decideFor(fresh(), asking(5_000), { pods: [pod], missing: [{ ...pod, name: 'gateway-1' }] });
    const shown = status.discoveredGateways?.map(({ podName, syncStatus }) => `${podName} ${syncStatus}`);
    assert.deepEqual(shown, ['gateway-0 Pending', 'gateway-1 MissingSidecar']);
    assert.equal(status.gateways?.total, 2);
    assert.equal(stateIn(status, 'SidecarInjected'), 'False MissingSidecar');
    assert.equal(stateIn(status, 'AllGatewaysSynced'), 'False MissingSidecar');
    assert.doesNotMatch(JSON.stringify(status), /label/);
    assert.equal(stateIn(status, 'RefResolved'), 'Unknown Resolving');
    assert.equal(status.observedGeneration, undefined, 'agents wait');
    const byDefault = { ...fresh(), status: { observedGeneration: -1 } };
    assert.equal(decideFor(byDefault, asking(5_000)).status.observedGeneration, -1, 'and so does kstatus');
  });

  test('a new spec is not called observed, and the fleet goes on', () => {
    const edited = { ...observed(), generation: 2 };
    const accessProblems = [{ reason: 'ForeignRoleBinding' as const, message: 'it was made by somebody else' }];
    const { status } = decideFor(edited, asking(1_000), { pods: [pod], accessProblems });
    assert.equal(status.observedGeneration, 1);
    assert.equal(status.gateways?.total, 1);
    assert.equal(stateIn(status, 'AgentAccess'), 'False ForeignRoleBinding');
  });

  test('again after a failure, the failure stays, and the fleet continues', () => {
    const waiting = decideFor(observed({ polling: false }), unreachable).status;
    const failed = { ...observed({ polling: false }), status: waiting };
    const { status, holdForMs } = decideFor(failed, asking(0));
    assert.deepEqual([holdForMs, status], [0, waiting], 'a retry writes nothing');
    const grown = decideFor(failed, asking(0), { pods: [pod] }).status;
    assert.equal(grown.gateways?.total, 1);
    assert.equal(stateIn(grown, 'Ready'), 'False GitUnreachable');
    assert.equal(stateIn(grown, 'AllGatewaysSynced'), 'Unknown Syncing');
  });
});

suite("a ref that the git server doesn't show yet", () => {
  const decideAfter = (seconds: number, fields: object = {}, status = observed().status) => {
    const gatewaySync = { ...observed(), request: { ...asked, ...fields }, status };
    return decideFor(gatewaySync, refs, {}, now + seconds * 1_000);
  };

  test('is queried several times, without writes in between', () => {
    let { status, requeryInMs } = decideAfter(0);
    const first = status;
    let queries = 0;
    for (let second = 0; requeryInMs !== undefined; queries += 1) {
      assert.deepEqual([status.lastRequest?.outcome, status], ['Pending', first]);
      second += requeryInMs / 1_000;
      ({ status, requeryInMs } = decideAfter(second, {}, status));
    }
    assert.equal(status.lastRequest?.outcome, 'Failed');
    assert.equal(queries, 8);
  });

  test('is Failed at once if the request is older than a minute', () => {
    assert.equal(decideAfter(60).status.lastRequest?.outcome, 'Failed');
  });

  test('is awaited from the time of storage if the request has no valid time of its own', () => {
    for (const at of ['', 'soon', '2100-01-01T00:00:00Z']) {
      assert.equal(decideAfter(5, { at }).status.lastRequest?.outcome, 'Pending');
      assert.equal(decideAfter(60, { at }).status.lastRequest?.outcome, 'Failed');
    }
  });
});

test('a fleet that is scaled to zero is ready, while a rollout waits for a gateway', () => {
  const first = decideFor({ ...observed(), spec }, refs).status.rollout;
  assert.ok(first);
  const rollout = { ...first, admission: first.admission.map((entry) => ({ ...entry, gateways: 1 })) };
  const { status } = decideFor({ ...observed(), spec, status: { ...observed().status, rollout } }, newer);
  assert.equal(stateIn(status, 'Ready'), 'True NoGateways');
  assert.equal(stateIn(status, 'RolledOut'), 'Unknown Progressing');
});

suite("while the newest release can't be stored, so that no rollout begins,", () => {
  const problem = { reason: 'ReleaseNotWritten', message: 'the SyncRelease cannot be written' } as const;
  /** All gateways have the commit and the revision of the status, and a decision results in these conditions. */
  const conditionsAt = (
    looked: Partial<ObservedGatewaySync>,
    answer: QueryResult | PendingQuery | undefined,
    rest: Partial<Observation>,
  ) => {
    const before = { ...observed(), spec };
    const begun = decideFor(before, refs, { pods: [pod] }).status;
    const { number } = begun.rollout ?? {};
    const said = { state: 'Synced' as const, commit, revision: 'r', generation: 1 };
    const report = { podUID: 'pod', status: { ...said, rollout: number } };
    const fleet = { pods: [pod], reportOf: () => report } as Partial<Observation>;
    const complete = decideFor({ ...before, status: begun }, refs, fleet).status;
    assert.equal(complete.rollout?.phase, 'Complete');
    const { status } = decideFor({ ...before, status: complete, ...looked }, answer, { ...fleet, ...rest });
    return (['RolledOut', 'Ready'] as const).map((type) => {
      const found = status.conditions?.find((condition) => condition.type === type);
      return `${found?.status} ${found?.reason}: ${found?.message}`;
    });
  };
  /** The stable release. */
  const releases = [observedReleaseOf(1, commit, { revision: 'r', result: 'Complete' })];

  for (const [what, looked, answer] of [
    ['a newer commit', {}, newer],
    ['an edit of spec.sync', { spec: { ...spec, revision: 's' }, generation: 2 }, refs],
  ] as const) {
    test(`no condition claims that gateways have ${what}`, () => {
      assert.deepEqual(conditionsAt(looked, answer, { releases, accessProblems: [problem] }), [
        `Unknown Waiting: ${problem.message}`,
        `False ReleaseNotWritten: ${problem.message}`,
      ]);
      const [, unexplained = ''] = conditionsAt(looked, answer, { releases });
      assert.match(unexplained, /^Unknown RolloutWaiting: /);
    });
  }

  const { git } = spec;
  for (const [field, edit] of [
    ['sync', { revision: 's' }],
    ['git', { git: { ...git, ref: 'v2' } }],
    ['git', { git: { ...git, repo: 'https://git.test/other.git' } }],
  ] as const) {
    for (const [why, answer, paused = false] of [
      ['the git host is unavailable', unreachable],
      ['the git host is asked', querying],
      ["the git host doesn't have the ref", { kind: 'refs', refs: new Map() }],
      ['the resource is paused', undefined, true],
    ] as const)
      test(`no edit is complete that is in no rollout: ${JSON.stringify(edit)}, and ${why}`, () => {
        const looked = { spec: { ...spec, ...edit, paused }, generation: 2 };
        for (const stored of [{}, { releases }]) {
          const [rolledOut = '', ready = ''] = conditionsAt(looked, answer, stored);
          assert.ok(rolledOut.startsWith('Unknown Waiting: ') && rolledOut.includes(`spec.${field}`), rolledOut);
          assert.doesNotMatch(ready, /^True/);
        }
      });
  }

  test('a resource stays complete after an edit without effect, and until something newer is known', () => {
    const polling = { spec: { ...spec, polling: { ...spec.polling, enabled: false } }, generation: 2 };
    for (const [looked, answer] of [
      [polling, querying],
      [{ ...polling, spec: { ...polling.spec, paused: true } }, undefined],
      [{}, unreachable],
    ] as const)
      assert.match(conditionsAt(looked, answer, {})[0] ?? '', /^True Complete/);
  });

  test("a resource without gateways isn't ready before its first or its next rollout", () => {
    const first = { ...observed(), spec };
    for (const [accessProblems, words] of [
      [[problem], /^False ReleaseNotWritten/],
      [[], /^Unknown RolloutWaiting: /],
    ] as const) {
      const rest = { releases: [], accessProblems: [...accessProblems] };
      const { conditions = [] } = decideFor(first, refs, rest).status;
      const { status, reason, message } = conditions.find(({ type }) => type === 'Ready') ?? {};
      assert.match(`${status} ${reason}: ${message}`, words);
      assert.match(conditionsAt({}, newer, { ...rest, pods: [] })[1] ?? '', words);
    }
  });

  test('gateways that are up to date are ready', () => {
    const [rolledOut = '', ready = ''] = conditionsAt({}, refs, { releases, accessProblems: [problem] });
    assert.match(rolledOut, /^True Complete/);
    assert.match(ready, /^True Synced/);
  });
});

suite('the status of a resource', () => {
  const seenAt = '2026-01-01T00:00:05.000Z';
  const followed = { lastSyncRef: 'main', lastSyncCommit: commit, lastSyncCommitShort: commit.slice(0, 8) };
  const target = { ref: 'main', source: 'Spec' as const };
  const plain = (status: GatewaySyncStatus) => omit(status, 'conditions', 'discoveredGateways', 'gateways');
  const seen = { observedRef: 'main', observedRepo: 'https://git.test/app.git' };
  const known = { profileCount: 1, target, ...seen, ...followed, lastSyncTime: '2026-01-01T00:00:00Z' };
  const decided = (status: GatewaySyncStatus, answer: QueryResult | PendingQuery | undefined, fields: object = {}) =>
    decideFor({ ...observed(), generation: 4, status, ...fields }, answer).status;

  test('lists the followed commit of a new resource, with its time', () => {
    assert.deepEqual(plain(decided({}, refs)), { ...known, observedGeneration: 4, refResolutionStatus: 'Resolved' });
  });

  test('keeps the time while the commit stays, and changes it with the commit', () => {
    const before = { ...followed, lastSyncTime: 'then' };
    assert.equal(decided(before, refs).lastSyncTime, 'then');
    assert.notEqual(decided({ ...before, lastSyncCommit: 'b'.repeat(40) }, refs).lastSyncTime, 'then');
  });

  test('lists the desired ref if the git server was never reached', () => {
    const desired = { profileCount: 1, pendingRef: 'main' };
    for (const [answer, refResolutionStatus, observedGeneration] of [
      [unreachable, 'Error', 4],
      [querying, 'Resolving', undefined],
      [undefined, 'NotResolved', 4],
    ] as const)
      assert.deepEqual(plain(decided({}, answer)), {
        ...desired,
        refResolutionStatus,
        ...(observedGeneration && { observedGeneration }),
      });
    const status = decided({ ...known, refResolutionStatus: 'Resolved' as const }, undefined);
    assert.deepEqual([status.refResolutionStatus, status.pendingRef], ['Resolved', undefined]);
  });

  test('follows the last response of a git server that is now unavailable', () => {
    const status = decided({}, { ...unreachable, lastGood });
    assert.deepEqual(plain(status), { ...known, observedGeneration: 4, refResolutionStatus: 'Error' });
  });

  test('rolls out the last response of a git server that is now unavailable, even after an edit', () => {
    const begun = (answer: QueryResult) => decided({}, answer, { spec }).rollout;
    const { phase, commit: begunCommit } = begun({ ...unreachable, lastGood }) ?? {};
    assert.deepEqual([phase, begunCommit], ['Complete', commit]);
    assert.equal(begun(unreachable), undefined, 'nothing is known');
  });

  test('keeps the times of an edit and of a request', () => {
    const edited = decided({ ...seen, observedRefTime: seenAt, target, ...followed }, refs);
    assert.equal(edited.observedRefTime, seenAt);
    const asked = { ref: 'main', source: 'Request' as const, requestId: '1' };
    const requested = decided({ ...seen, target: asked, targetTime: seenAt, ...followed }, refs);
    assert.deepEqual([requested.target, requested.targetTime], [asked, seenAt]);
    assert.equal(decided({ ...seen, target, targetTime: seenAt, ...followed }, refs).targetTime, undefined);
  });

  test('lists the first three failed gateways, and waiting pods', () => {
    const pods = ['d', 'c', 'b', 'a'].map((name) => ({ ...pod, name, uid: name, waiting: 'no node' }));
    const messageOf = (state: 'Error' | 'Pending', message?: string) =>
      decideFor(observed(), refs, {
        pods: [...pods, { ...pods[0]!, name: '0', live: false }],
        reportOf: ({ uid }) => ({ podUID: uid, status: { state, ...(message && { message }) } }),
      }).status.conditions?.find(({ type }) => type === 'AllGatewaysSynced')?.message;
    assert.equal(messageOf('Error', 'full'), '0/4 synced; a: full; no node; b: full; no node; c: full; no node');
    assert.equal(messageOf('Pending'), '0/4 synced; a: no node; b: no node; c: no node');
    for (const each of pods) each.waiting = '';
    const inUse = 'the volume is in use by x';
    assert.equal(messageOf('Pending', inUse), `0/4 synced; a: ${inUse}; b: ${inUse}; c: ${inUse}`);
    assert.equal(messageOf('Error'), '0/4 synced; a: failed; b: failed; c: failed');
  });

  test('names the author of a command', () => {
    const { rollout } = decideFor({ ...observed(), spec }, refs).status;
    assert.ok(rollout);
    const orders = { rollback: 'previous' };
    const orderedBy = { rollback: { user: 'anna', manager: 'kubectl' } };
    const resource = { ...observed(), spec, orders, orderedBy, status: { ...observed().status, rollout } };
    const event = decideFor(resource, refs).transitions.find(({ reason }) => reason === 'RollbackOrdered');
    assert.match(event?.message ?? '', / by anna\b/);
  });
});
