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
  const after = withOrders({ rollback: 'previous', retry: 'def' });
  const authors = { rollback: { manager: 'kubectl-annotate' }, retry: { user: 'anna', manager: 'kubectl-annotate' } };
  const reports = orderTransitions(withOrders(), after, authors).map(({ reason, message }) => `${reason}: ${message}`);
  const expected = [
    /^RollbackOrdered: sync\.io\/rollback: previous .* kubectl-annotate\)$/,
    /^RetryOrdered: sync\.io\/retry-rollout: def .* anna$/,
  ];
  assert.equal(reports.length, expected.length);
  for (const [index, facts] of expected.entries()) assert.match(reports[index] ?? '', facts);
  assert.deepEqual(orderTransitions(after, after, authors), []);
  assert.deepEqual(orderTransitions(after, withOrders(), authors), []);
});

test('a command without effect is reported as a warning', () => {
  const transitions = orderTransitions(withOrders(), withOrders({ rollback: 'abc', ignored: ['rollback'] }), {});
  const codes = transitions.map(({ type, reason }) => [type, reason]);
  assert.deepEqual(codes, [['Warning', 'RollbackOrdered']]);
  assert.match(transitions[0]?.message ?? '', /^sync\.io\/rollback: abc /);
});

test("commands from before the rollout aren't reported", () => {
  assert.deepEqual(orderTransitions({}, withOrders({ retry: 'abc' }), {}), []);
});

test('an approval is reported once, when it applies', () => {
  const approved = (...approvals: NonNullable<RolloutStatus['approvals']>) => ({
    rollout: { approvals } as RolloutStatus,
  });
  const app = { release: 'app-2', commit: 'b', revision: 'r' };
  const anna = { ...app, by: 'anna', digests: ['a'] };
  const ben = { ...app, wave: 'east', by: 'ben', digests: ['a', 'b'] };
  const messagesOf = (before: GatewaySyncStatus, after: GatewaySyncStatus) =>
    transitionsOf(before, after).map(({ type, reason, message }) => `${type} ${reason} ${message}`);
  const [first, second, ...others] = messagesOf({}, approved(anna, ben));
  assert.match(first ?? '', /^Normal RolloutApproved .* app-2 .* anna$/);
  assert.match(second ?? '', /^Normal RolloutApproved .* app-2 .* east .* ben$/);
  assert.deepEqual(others, []);
  assert.deepEqual(messagesOf(approved(anna, ben), approved(ben)), []);
  assert.equal(messagesOf(approved(anna), approved({ ...anna, digests: ['a', 'b'] })).length, 1);
});

suite('events report', () => {
  /** Conditions that are given as type, status, and reason. */
  const conditions = (...given: string[]): GatewaySyncStatus => ({
    conditions: given.map((condition) => {
      const [type = '', status, reason = ''] = condition.split(' ');
      return { type, status: status as 'True', reason, message: '', lastTransitionTime: '2026-01-01T00:00:00Z' };
    }),
  });
  const gatewaysFailed = 'Ready False GatewaysFailed';
  const unready = (message: string): GatewaySyncStatus => ({
    conditions: conditions(gatewaysFailed).conditions?.map((ready) => ({ ...ready, message })),
  });
  const rollout = (fields: Partial<RolloutStatus>): GatewaySyncStatus => ({
    rollout: { number: 1, phase: 'Progressing', wave: 'a', summary: 's', message: 'm', ...fields } as RolloutStatus,
  });
  const moved = { lastSyncCommit: 'b', lastSyncCommitShort: 'b', lastSyncRef: 'main' };
  const earlier = { ...moved, lastSyncCommit: 'a', lastSyncCommitShort: 'a' };
  const applied = { ...request, outcome: 'Applied' as const };
  const ignored = { outcome: 'Ignored', message: 'why' } as const;
  const notATag = { ...ignored, reason: 'NotATag' } as const;

  type Row<Part> = [name: string, before: Part, after: Part, ...events: string[]];
  const waits: Partial<RolloutStatus> = { nextCommit: 'c' };
  const forApproval: Partial<RolloutStatus> = { ...waits, waitsFor: 'Approval' };
  const complete: Partial<RolloutStatus> = { phase: 'Complete' };
  const rollouts: Row<Partial<RolloutStatus>>[] = [
    ['nothing of a rollout that goes on', {}, { message: 'other', verified: 3 }],
    ['of a rollout in its next wave', {}, { wave: 'b' }, 'Normal RolloutProgressing m'],
    ['of the next rollout', {}, { number: 2 }, 'Normal RolloutProgressing m'],
    ['of a commit that waits', {}, waits, 'Normal RolloutWaiting m'],
    ['of a commit that waits for something else', waits, forApproval, 'Normal RolloutWaiting m'],
    ['nothing of a commit that waits for its preview again', forApproval, waits],
    [
      'of a commit that waits after a rollback, not as another rollback',
      { phase: 'RolledBack' },
      { phase: 'RolledBack', ...waits },
      'Normal RolloutWaiting m',
    ],
    ['nothing of a commit that no longer waits', { ...complete, ...waits }, complete],
    [
      'of a rollout that is complete while another commit waits, not by the text about that commit',
      {},
      { ...complete, ...waits },
      'Normal RolloutComplete s',
    ],
    [
      'of a rollout without words, by its summary',
      {},
      { ...complete, message: undefined as never },
      'Normal RolloutComplete s',
    ],
    ...(['Stopped', 'RollingBack', 'RolledBack'] as const).map((phase): Row<Partial<RolloutStatus>> => {
      return [`of a rollout that is ${phase}, as a warning`, {}, { phase }, `Warning Rollout${phase} m`];
    }),
  ];

  const secretMissing = 'AgentAccess False SecretNotFound';
  const syncing = 'Ready Unknown Syncing';
  const single: Row<string>[] = [
    ...['SidecarInjected', 'AgentAccess', 'SSHHostKeyVerification', 'CommitStatus'].map((type): Row<string> => {
      return [`of a problem of ${type}`, `${type} True Fine`, `${type} False Bad`, 'Warning Bad'];
    }),
    ['of another problem', 'CommitStatus False A', 'CommitStatus False B', 'Warning B'],
    ['nothing of a problem that stays', secretMissing, secretMissing],
    ['nothing of a problem that is gone', secretMissing, 'AgentAccess True Fine'],
    ['of what is not ready for another reason', 'Ready False InvalidProfile', gatewaysFailed, 'Warning GatewaysFailed'],
    ['of what is no longer ready, for the same reason', syncing, 'Ready False Syncing', 'Warning Syncing'],
    ['of what is synced', syncing, 'Ready True Synced', 'Normal Synced'],
  ];

  const cases: Row<GatewaySyncStatus>[] = [
    ['nothing where nothing is new', { ...moved, lastRequest: applied }, { ...moved, lastRequest: { ...applied } }],
    ['of the first commit', {}, moved, 'Normal RefResolved main is b'],
    ['of the next commit', earlier, moved, 'Normal RefResolved main is b, was a'],
    ['nothing of a commit that is gone', moved, {}],
    ['of a request that is applied', {}, { lastRequest: applied }, 'Normal RequestApplied v1'],
    [
      'of another request',
      { lastRequest: { ...applied, id: 'b' } },
      { lastRequest: applied },
      'Normal RequestApplied v1',
    ],
    ['nothing of one that waits', {}, { lastRequest: { ...request, outcome: 'Pending' } }],
    [
      'of a push, and why it failed',
      {},
      { lastPush: { ...push, outcome: 'Failed', message: 'why' } },
      'Warning PushFailed refs/heads/main: why',
    ],
    [
      'of what was ignored, as a warning',
      {},
      { lastRequest: { ...request, ...ignored }, lastPush: { ...push, outcome: 'Superseded' } },
      'Warning RequestIgnored v1: why',
      'Normal PushSuperseded refs/heads/main',
    ],
    [
      'of a push to a branch while a range is followed, which is usual',
      {},
      { lastPush: { ...push, ...notATag } },
      'Normal PushIgnored refs/heads/main: why',
    ],
    [
      'of a requested branch while a range is followed, which is a mistake',
      {},
      { lastRequest: { ...request, ...notATag } },
      'Warning RequestIgnored v1: why',
    ],
    [
      'of a tag for another resource, which is usual',
      {},
      { lastRequest: { ...request, ...ignored, reason: 'OtherPrefix' } },
      'Normal RequestIgnored v1: why',
    ],
    ['nothing of a rollout that is there for the first time', {}, rollout({})],
    ...rollouts.map(([name, before, after, ...events]): Row<GatewaySyncStatus> => {
      return [name, rollout(before), rollout(after), ...events];
    }),
    [
      'of a rollout once, where Ready says the same',
      { ...rollout({}), ...conditions('Ready True Synced') },
      { ...rollout({ phase: 'Stopped' }), ...conditions('Ready False RolloutStopped') },
      'Warning RolloutStopped m',
    ],
    ...single.map(([name, before, after, ...events]): Row<GatewaySyncStatus> => {
      return [name, conditions(before), conditions(after), ...events];
    }),
    [
      'of a problem once, where Ready says the same',
      {},
      conditions(secretMissing, 'Ready False SecretNotFound'),
      'Warning SecretNotFound',
    ],
    ['of what is not ready', {}, unready('a failed'), 'Warning GatewaysFailed a failed'],
    ['nothing of another message about the same reason', unready('a failed'), unready('b failed')],
    ['nothing while it is unknown', {}, conditions(syncing)],
    ['nothing of what is ready without gateways', {}, conditions('Ready True NoGateways')],
  ];
  for (const [name, before, after, ...events] of cases) {
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
