import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { otherRepository } from '../../../../../controller/intent/intents.ts';
import { phaseTransition, withAnnounced } from '../../../../../controller/reconcile/events/announcement.ts';
import {
  appliedDelays,
  orderTransitions,
  podTransitions,
  transitionsOf,
} from '../../../../../controller/reconcile/events/status-transitions.ts';
import type { ObservedPod } from '../../../../../controller/watch/observed-pod.ts';
import type { GatewaySyncStatus } from '../../../../../shared/api/gateway-sync-status.ts';
import type { RolloutStatus } from '../../../../../shared/api/rollout.ts';

const now = Date.parse('2026-11-21T12:00:10.000Z');
const request = { id: 'a', ref: 'v1', at: '2026-11-21T12:00:00.000Z' };
const push = { ref: 'refs/heads/main', at: '2026-11-21T12:00:09.500Z' };

test('an applied request and an applied push are each reported with their age', () => {
  const before = { lastRequest: { ...request, outcome: 'Pending' as const } };
  const after = {
    lastRequest: { ...request, outcome: 'Applied' as const },
    lastPush: { ...push, outcome: 'Applied' as const },
  };
  assert.deepEqual(appliedDelays(before, after, now), [10, 0.5]);
});

test('a delivery for another repository is reported with the repository, for one event each', () => {
  const repo = 'team/unrelated';
  const lastRequest = { ...request, repo, outcome: 'Ignored' as const, message: otherRepository(repo) };
  const [transition, ...others] = transitionsOf({}, { lastRequest });
  assert.deepEqual(others, []);
  assert.deepEqual([transition?.type, transition?.reason, transition?.once], ['Warning', 'OtherRepository', repo]);
  assert.match(String(transition?.message), /^v1: .*team\/unrelated.*spec\.webhook\.repositories/);
});

test("deliveries that were already applied, or aren't, aren't reported", () => {
  const applied = { lastRequest: { ...request, outcome: 'Applied' as const } };
  assert.deepEqual(appliedDelays(applied, applied, now), []);
  assert.deepEqual(appliedDelays({}, { lastRequest: { ...request, outcome: 'Failed' } }, now), []);
  assert.deepEqual(appliedDelays({}, {}, now), []);
});

test('an invalid time is ignored, and a future one counts as now', () => {
  const at = (value?: string) => ({
    lastRequest: { ref: 'v1', outcome: 'Applied' as const, ...(value && { at: value }) },
  });
  assert.deepEqual(appliedDelays({}, at(), now), []);
  assert.deepEqual(appliedDelays({}, at('yesterday'), now), []);
  assert.deepEqual(appliedDelays({}, at('2026-11-21T13:00:00.000Z'), now), [0]);
});

const withOrders = (handled?: RolloutStatus['handled']) => ({ rollout: { handled } as RolloutStatus });

test("a user's command is reported once, with its author", () => {
  const after = withOrders({ approve: 'abc', rollback: 'previous', retry: 'def' });
  const authors = { approve: { user: 'anna', manager: 'kubectl-annotate' }, rollback: { manager: 'kubectl-annotate' } };
  const reports = orderTransitions(withOrders(), after, authors).map(({ reason, message }) => `${reason}: ${message}`);
  const expected = [
    /^RolloutApproved: .* abc .* anna$/,
    /^RollbackOrdered: sync\.io\/rollback: previous .* kubectl-annotate\)$/,
    /^RetryOrdered: sync\.io\/retry-rollout: def /,
  ];
  assert.equal(reports.length, expected.length);
  for (const [index, facts] of expected.entries()) assert.match(reports[index] ?? '', facts);
  assert.deepEqual(orderTransitions(after, after, authors), []);
  assert.deepEqual(orderTransitions(after, withOrders(), authors), []);
});

test('a command without effect is reported as a warning', () => {
  const transitions = orderTransitions(withOrders(), withOrders({ rollback: 'abc', ignored: ['rollback'] }), {});
  assert.deepEqual(
    transitions.map(({ type, reason }) => [type, reason]),
    [['Warning', 'RollbackOrdered']],
  );
  assert.match(transitions[0]?.message ?? '', /^sync\.io\/rollback: abc /);
});

test("commands from before the rollout aren't reported", () => {
  assert.deepEqual(orderTransitions({}, withOrders({ approve: 'abc' }), {}), []);
});

suite('events report', () => {
  const conditions = (...given: [type: string, status: 'True' | 'False' | 'Unknown', reason: string][]) => ({
    conditions: given.map(([type, status, reason]) => ({
      type,
      status,
      reason,
      message: '',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    })),
  });
  const unready = (message: string) => {
    const ready = { type: 'Ready', status: 'False' as const, reason: 'GatewaysFailed', message };
    return { conditions: [{ ...ready, lastTransitionTime: '2026-01-01T00:00:00Z' }] };
  };
  const rollout = (fields: Partial<RolloutStatus>): GatewaySyncStatus => ({
    rollout: { number: 1, phase: 'Progressing', wave: 'a', summary: 's', message: 'm', ...fields } as RolloutStatus,
  });
  const moved = { lastSyncCommit: 'b', lastSyncCommitShort: 'b', lastSyncRef: 'main' };
  const applied = { ...request, outcome: 'Applied' as const };
  const secretMissing = ['AgentAccess', 'False', 'SecretNotFound'] as const;

  const cases: [name: string, before: GatewaySyncStatus, after: GatewaySyncStatus, events: string[]][] = [
    ['nothing where nothing is new', { ...moved, lastRequest: applied }, { ...moved, lastRequest: { ...applied } }, []],
    ['of the first commit', {}, moved, ['Normal RefResolved main is b']],
    [
      'of the next commit',
      { ...moved, lastSyncCommit: 'a', lastSyncCommitShort: 'a' },
      moved,
      ['Normal RefResolved main is b, was a'],
    ],
    ['nothing of a commit that is gone', moved, {}, []],
    ['of a request that is applied', {}, { lastRequest: applied }, ['Normal RequestApplied v1']],
    [
      'of another request',
      { lastRequest: { ...applied, id: 'b' } },
      { lastRequest: applied },
      ['Normal RequestApplied v1'],
    ],
    ['nothing of one that waits', {}, { lastRequest: { ...request, outcome: 'Pending' } }, []],
    [
      'of a push, and why it failed',
      {},
      { lastPush: { ...push, outcome: 'Failed', message: 'why' } },
      ['Warning PushFailed refs/heads/main: why'],
    ],
    [
      'of what was ignored, as a warning',
      {},
      { lastRequest: { ...request, outcome: 'Ignored', message: 'why' }, lastPush: { ...push, outcome: 'Superseded' } },
      ['Warning RequestIgnored v1: why', 'Normal PushSuperseded refs/heads/main'],
    ],
    [
      'of a push to a branch while a range is followed, which is usual',
      {},
      { lastPush: { ...push, outcome: 'Ignored', reason: 'NotATag', message: 'why' } },
      ['Normal PushIgnored refs/heads/main: why'],
    ],
    [
      'of a requested branch while a range is followed, which is a mistake',
      {},
      { lastRequest: { ...request, outcome: 'Ignored', reason: 'NotATag', message: 'why' } },
      ['Warning RequestIgnored v1: why'],
    ],
    [
      'of a tag for another resource, which is usual',
      {},
      { lastRequest: { ...request, outcome: 'Ignored', reason: 'OtherPrefix', message: 'why' } },
      ['Normal RequestIgnored v1: why'],
    ],
    ['nothing of a rollout that is there for the first time', {}, rollout({}), []],
    ['nothing of a rollout that goes on', rollout({}), rollout({ message: 'other', verified: 3 }), []],
    ['of a rollout in its next wave', rollout({}), rollout({ wave: 'b' }), ['Normal RolloutProgressing m']],
    ['of the next rollout', rollout({}), rollout({ number: 2 }), ['Normal RolloutProgressing m']],
    ['of a commit that waits', rollout({}), rollout({ nextCommit: 'c' }), ['Normal RolloutWaiting m']],
    [
      'of a commit that waits for something else',
      rollout({ nextCommit: 'c' }),
      rollout({ nextCommit: 'c', waitsFor: 'Approval' }),
      ['Normal RolloutWaiting m'],
    ],
    [
      'nothing of a commit that waits for its preview again',
      rollout({ nextCommit: 'c', waitsFor: 'Approval' }),
      rollout({ nextCommit: 'c' }),
      [],
    ],
    [
      'of a commit that waits after a rollback, not as another rollback',
      rollout({ phase: 'RolledBack' }),
      rollout({ phase: 'RolledBack', nextCommit: 'c' }),
      ['Normal RolloutWaiting m'],
    ],
    [
      'nothing of a commit that no longer waits',
      rollout({ phase: 'Complete', nextCommit: 'c' }),
      rollout({ phase: 'Complete' }),
      [],
    ],
    [
      'of a rollout that is complete while another commit waits, not by the text about that commit',
      rollout({}),
      rollout({ phase: 'Complete', nextCommit: 'c' }),
      ['Normal RolloutComplete s'],
    ],
    [
      'of a rollout without words, by its summary',
      rollout({}),
      rollout({ phase: 'Complete', message: undefined as never }),
      ['Normal RolloutComplete s'],
    ],
    ...(['Stopped', 'RollingBack', 'RolledBack'] as const).map((phase): (typeof cases)[number] => [
      `of a rollout that is ${phase}, as a warning`,
      rollout({}),
      rollout({ phase }),
      [`Warning Rollout${phase} m`],
    ]),
    [
      'of a rollout once, where Ready says the same',
      { ...rollout({}), ...conditions(['Ready', 'True', 'Synced']) },
      { ...rollout({ phase: 'Stopped' }), ...conditions(['Ready', 'False', 'RolloutStopped']) },
      ['Warning RolloutStopped m'],
    ],
    ...['SidecarInjected', 'AgentAccess', 'SSHHostKeyVerification', 'CommitStatus'].map(
      (type): (typeof cases)[number] => [
        `of a problem of ${type}`,
        conditions([type, 'True', 'Fine']),
        conditions([type, 'False', 'Bad']),
        ['Warning Bad'],
      ],
    ),
    [
      'of another problem',
      conditions(['CommitStatus', 'False', 'A']),
      conditions(['CommitStatus', 'False', 'B']),
      ['Warning B'],
    ],
    ['nothing of a problem that stays', conditions([...secretMissing]), conditions([...secretMissing]), []],
    [
      'nothing of a problem that is gone',
      conditions([...secretMissing]),
      conditions(['AgentAccess', 'True', 'Fine']),
      [],
    ],
    [
      'of a problem once, where Ready says the same',
      {},
      conditions([...secretMissing], ['Ready', 'False', 'SecretNotFound']),
      ['Warning SecretNotFound'],
    ],
    ['of what is not ready', {}, unready('a failed'), ['Warning GatewaysFailed a failed']],
    [
      'of what is not ready for another reason',
      conditions(['Ready', 'False', 'InvalidProfile']),
      conditions(['Ready', 'False', 'GatewaysFailed']),
      ['Warning GatewaysFailed'],
    ],
    [
      'of what is no longer ready, for the same reason',
      conditions(['Ready', 'Unknown', 'Syncing']),
      conditions(['Ready', 'False', 'Syncing']),
      ['Warning Syncing'],
    ],
    ['nothing of another message about the same reason', unready('a failed'), unready('b failed'), []],
    ['nothing while nobody knows', {}, conditions(['Ready', 'Unknown', 'Syncing']), []],
    [
      'of what is synced',
      conditions(['Ready', 'Unknown', 'Syncing']),
      conditions(['Ready', 'True', 'Synced']),
      ['Normal Synced'],
    ],
    ['nothing of what is ready without gateways', {}, conditions(['Ready', 'True', 'NoGateways']), []],
  ];
  for (const [name, before, after, events] of cases) {
    test(name, () => {
      const phase = phaseTransition(withAnnounced(before, after, { now, isAnnounced: true }), now);
      const transitions = [...transitionsOf(before, after), ...(phase ? [phase] : [])];
      const described = transitions.map(({ type, reason, message }) =>
        [type, reason, message].filter(Boolean).join(' '),
      );
      assert.deepEqual(described, events);
    });
  }

  test('once that a pod runs as the user of its image, for at most ten pods', () => {
    const named = (name: string, fields: Partial<ObservedPod> = {}) =>
      ({ name, uid: `uid of ${name}`, live: true, userUnset: true, ...fields }) as ObservedPod;
    const listing = (...names: string[]) =>
      ({ discoveredGateways: names.map((podName) => ({ podName })) }) as GatewaySyncStatus;
    const pods = [
      named('new'),
      named('old'),
      named('set', { userUnset: false }),
      named('ended', { live: false }),
      named('other'),
    ];
    const transitions = podTransitions(listing('old'), listing('old', 'new', 'set', 'ended'), pods);
    assert.deepEqual(
      transitions.map(({ type, reason, pod, once }) => ({ type, reason, pod, once })),
      [{ type: 'Warning', reason: 'RunAsUserNotSet', pod: { name: 'new', uid: 'uid of new' }, once: 'uid of new' }],
    );
    assert.match(transitions[0]?.message ?? '', / securityContext\.runAsUser/);
    const many = Array.from({ length: 11 }, (_, index) => named(`pod-${index}`));
    assert.equal(podTransitions({}, listing(...many.map(({ name }) => name)), many).length, 10);
  });
});
