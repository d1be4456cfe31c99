import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Resolution } from '../../../../../controller/intent/resolution.ts';
import type { Facts } from '../../../../../controller/reconcile/decide/condition-facts.ts';
import { judgeConditions } from '../../../../../controller/reconcile/decide/conditions.ts';
import { mergeConditions, type Verdicts } from '../../../../../controller/reconcile/decide/merge-conditions.ts';
import { type ObservedGatewaySync, projectGatewaySync } from '../../../../../controller/watch/observed-gateway-sync.ts';
import type { GatewaySyncStatus } from '../../../../../shared/api/gateway-sync-status.ts';
import type { RolloutStatus } from '../../../../../shared/api/rollout.ts';
import { omit } from '../../../../../shared/domain/text/objects.ts';
import { gatewaySyncOf, type SpecInput } from '../../../../support/objects.ts';

const commit = 'a'.repeat(40);
const winner = { target: { ref: 'main', source: 'Spec' as const }, at: 0 };
const resolvedTo = (ambiguous = false) => ({
  winner,
  resolved: { commit, qualifiedRef: 'refs/heads/main', ambiguous },
});
const resolved = (ambiguous = false, requeryInMs?: number): Resolution => ({
  kind: 'resolved',
  followed: resolvedTo(ambiguous),
  echo: {},
  requeryInMs,
});
const failed = (more: Partial<Resolution & { kind: 'failed' }> = {}): Resolution => ({
  kind: 'failed',
  reason: 'GitUnreachable',
  message: 'the host is unreachable',
  transient: true,
  retryAfterMs: 1,
  requeryInMs: undefined,
  echo: {},
  isJudged: false,
  known: undefined,
  ...more,
});
const asking = (isNew: boolean): Resolution => ({ kind: 'querying', echo: {}, isMentioned: !isNew, forMs: 1 });
const paused: Resolution = { kind: 'paused', echo: {} };

const condition = (type: string, status: 'True' | 'False' | 'Unknown', reason: string) => ({
  type,
  status,
  reason,
  message: `of ${type}`,
  lastTransitionTime: '2026-01-01T00:00:00Z',
  observedGeneration: 1,
});
/** The ref is resolved, and gateways failed. */
const followed: GatewaySyncStatus = {
  observedGeneration: 2,
  lastSyncCommit: 'b'.repeat(40),
  refResolutionStatus: 'Resolved',
  conditions: [condition('RefResolved', 'True', 'Resolved'), condition('Ready', 'False', 'GatewaysFailed')],
};
const erring: GatewaySyncStatus = {
  ...followed,
  refResolutionStatus: 'Error',
  conditions: [
    condition('RefResolved', 'False', 'GitUnreachable'),
    ...[condition('Ready', 'False', 'GitUnreachable'), condition('Stalled', 'True', 'GitUnreachable')],
    condition('SSHHostKeyVerification', 'False', 'HostKeyVerificationFailed'),
  ],
};

interface Given extends Partial<Omit<Facts, 'counts' | 'gatewaySync' | 'rollout'>> {
  counts?: Partial<Facts['counts']>;
  status?: GatewaySyncStatus;
  spec?: Partial<SpecInput>;
  orders?: ObservedGatewaySync['orders'];
  /** Of the profiles. */
  problems?: string[];
  rollout?: Partial<RolloutStatus>;
}

function judge({ counts, status = {}, spec = {}, orders, problems, rollout, ...facts }: Given): Verdicts {
  const observed = projectGatewaySync(gatewaySyncOf({ metadata: { generation: 2 }, spec, status }), undefined, 0);
  const gatewaySync = orders ? { ...observed, orders } : observed;
  if (problems) gatewaySync.spec.sync.problems = problems;
  const none = { synced: 0, pending: 0, error: 0, missingSidecar: 0, paused: 0, dryRun: 0, skewed: 0 };
  return judgeConditions({
    gatewaySync,
    resolution: resolved(),
    hub: undefined,
    rolloutProblems: [],
    gatewayErrors: [],
    podsThatWait: [],
    wrongClocks: [],
    unmade: [],
    accessProblems: [],
    commitStatusProblem: undefined,
    isHeldBack: false,
    isLabelRequired: false,
    counts: { ...none, summary: '2/2 synced', total: 2, ...(counts ?? { synced: 2 }) },
    rollout: rollout && ({ summary: 'summary', message: 'words', ...rollout } as RolloutStatus),
    ...facts,
  });
}

/** The status and reason of each condition. */
const codesOf = (verdicts: Verdicts) =>
  Object.fromEntries(Object.entries(verdicts).map(([type, { status, reason }]) => [type, `${status} ${reason}`]));

const healthy = {
  RefResolved: 'True Resolved',
  ProfilesValid: 'True Valid',
  AllGatewaysSynced: 'True Synced',
  SidecarInjected: 'True Injected',
  AgentAccess: 'True Granted',
  Ready: 'True Synced',
  Stalled: 'False Progressing',
};
const mapping = { mappings: [{ source: 'a', destination: 'b' }] };
type SshKey = NonNullable<NonNullable<SpecInput['git']['auth']>['sshKey']>;
const ssh = (sshKey: SshKey) => ({ git: { repo: 'git@git.test:a', ref: 'main', auth: { sshKey } } });
const secretRef = { name: 'ssh', key: 'key' };
const posting = { git: { repo: 'https://git.test/a', ref: 'main', commitStatus: {} } };
const earlierSpec = { ...followed, observedGeneration: 1 };
const noPods = { counts: { total: 0 } };
const oneOfTwo = { synced: 1, summary: '1/2 synced' };
const withoutSidecar = { counts: { ...oneOfTwo, missingSidecar: 1 } };
const gateways = (state: string) => ({ Ready: state, AllGatewaysSynced: state });
const missingSidecar = { SidecarInjected: 'False MissingSidecar', ...gateways('False MissingSidecar') };
const foreign = { AgentAccess: 'False ForeignRoleBinding' };
const denied = { reason: 'ForeignRoleBinding', message: 'it is not ours' } as const;
const resolving = { Ready: 'Unknown Resolving' };
const hostKeyFailure = 'HostKeyVerificationFailed';
const unreachable = { RefResolved: 'False GitUnreachable', Ready: 'False GitUnreachable' };
const isPaused = { Ready: 'Unknown Paused', RefResolved: 'Unknown Paused' };
const hostKey = (state: string) => ({ SSHHostKeyVerification: state });
const wrongHostKey = hostKey(`False ${hostKeyFailure}`);
/** The conditions of a rollout that keeps its resource from being ready. */
const rolledOut = (status: 'False' | 'Unknown', reason: string, ready = `Rollout${reason}`) => ({
  RolledOut: `${status} ${reason}`,
  Ready: `${status} ${ready}`,
});
const stopped = { ...rolledOut('False', 'Stopped'), Stalled: 'True RolloutStopped' };

suite('the conditions of a resource', () => {
  type Codes = Record<string, string>;
  /** Conditions that aren't those of a healthy resource, and a fact that the message of the first one has to contain. */
  type Row<Part> = [name: string, Part, codes: Codes, fact?: string];

  const whileQueried: [name: string, isNew: boolean, status: GatewaySyncStatus | undefined, codes: Codes][] = [
    ['for the first time', true, undefined, { RefResolved: 'Unknown Resolving', ...resolving }],
    ['about something new', true, followed, resolving],
    ['again, after failures of gateways', false, followed, {}],
    ['again after a failure', false, erring, { ...unreachable, Stalled: 'True GitUnreachable', ...wrongHostKey }],
    ['about something new after a failure', true, erring, { ...unreachable, ...resolving, ...wrongHostKey }],
  ];
  const whilePaused: Row<Given>[] = [
    ['before anything was resolved', {}, isPaused],
    [
      'with an order',
      { orders: { rollback: 'previous' }, rollout: { phase: 'Complete' } },
      { ...isPaused, RolledOut: 'True Complete' },
      'sync.io/rollback: previous ',
    ],
    ['with a commit', { status: followed }, { ...isPaused, RefResolved: 'True Paused' }],
    ["with a commit that wasn't that of its spec", { status: erring }, isPaused],
  ];
  const overSsh: [name: string, sshKey: SshKey, state: string][] = [
    ['with known hosts', { secretRef, knownHosts: { secretRef: { name: 'k', key: 'h' } } }, 'True KnownHosts'],
    ['without known hosts', { secretRef }, 'False KnownHostsMissing'],
    ['without a check', { secretRef, insecureIgnoreHostKey: true }, 'False InsecureIgnoreHostKey'],
  ];
  const ofRollouts: Row<Partial<RolloutStatus>>[] = [
    ['is complete', { phase: 'Complete' }, { RolledOut: 'True Complete' }, 'words'],
    ['stopped', { phase: 'Stopped' }, stopped],
    ['was rolled back', { phase: 'RolledBack' }, rolledOut('False', 'RolledBack')],
    [
      'the preview stopped',
      { phase: 'Stopped', previewFailure: 'why' },
      { ...rolledOut('False', 'PreviewFailed', 'PreviewFailed'), Stalled: 'True PreviewFailed' },
    ],
  ];
  const cases: Row<Given>[] = [
    ['that is healthy', {}, {}],
    ['with a tag and a branch of one name', { resolution: resolved(true) }, { RefResolved: 'True AmbiguousRef' }],
    ["while the host doesn't have the requested commit yet", { resolution: resolved(false, 5) }, resolving],
    ...whileQueried.map(([name, isNew, status, codes]): Row<Given> => {
      return [`while the host is queried ${name}`, { resolution: asking(isNew), ...(status && { status }) }, codes];
    }),
    ...whilePaused.map(([name, given, ...expected]): Row<Given> => {
      return [`paused ${name}`, { resolution: paused, spec: { paused: true }, ...given }, ...expected];
    }),
    ['when the host is unavailable', { resolution: failed() }, unreachable],
    [
      'when the host is unavailable, with a commit',
      { resolution: failed(), status: followed },
      { ...unreachable, RefResolved: 'True GitUnreachable' },
      ` ${'b'.repeat(40)}; `,
    ],
    [
      'when the host is unavailable, with a commit of an earlier spec',
      { resolution: failed(), status: earlierSpec },
      unreachable,
    ],
    [
      'when the host is unavailable, with a known commit of this spec',
      { resolution: failed({ known: resolvedTo() }), status: earlierSpec },
      { ...unreachable, RefResolved: 'True GitUnreachable' },
      ` ${commit}; `,
    ],
    [
      'when only a user can help',
      { resolution: failed({ transient: false }) },
      { ...unreachable, Stalled: 'True GitUnreachable' },
    ],
    [
      'of a profile that is wrong',
      { problems: ['one', 'two'] },
      { ProfilesValid: 'False InvalidProfile', Ready: 'False InvalidProfile', Stalled: 'True InvalidProfile' },
      'one; two',
    ],
    ['without pods', noPods, { AllGatewaysSynced: 'Unknown NoGateways', Ready: 'True NoGateways' }],
    ['without further pods that a workload wants', { unmade: ['StatefulSet a'] }, {}],
    [
      'without the pods that a workload wants',
      { ...noPods, unmade: ['StatefulSet a', 'Job b'] },
      gateways('Unknown NoGateways'),
      'StatefulSet a; Job b',
    ],
    [
      'with gateways that failed',
      { counts: { ...oneOfTwo, error: 1 }, gatewayErrors: ['x: disk full', 'y: failed'] },
      gateways('False GatewaysFailed'),
      '1/2 synced; x: disk full; y: failed',
    ],
    ['with a pod without its sidecar', withoutSidecar, missingSidecar, 'delete them'],
    [
      'with a pod without its sidecar, if namespaces need a label',
      { ...withoutSidecar, isLabelRequired: true },
      missingSidecar,
      'sync.io/injection',
    ],
    [
      'while gateways sync',
      { counts: { ...oneOfTwo, pending: 1 }, podsThatWait: ['x: no node'] },
      gateways('Unknown Syncing'),
      '1/2 synced; x: no node',
    ],
    ['with paused gateways, and others in a dry run', { counts: { paused: 1, dryRun: 1, summary: '2/2 synced' } }, {}],
    [
      'without the permissions of agents',
      { accessProblems: [denied, { reason: 'GitTokenNotWritten', message: 'and more' }] },
      foreign,
      'it is not ours; and more',
    ],
    [
      'without the permissions of agents that wait for them',
      { accessProblems: [denied], counts: oneOfTwo },
      { ...foreign, AllGatewaysSynced: 'Unknown Syncing', Ready: 'False ForeignRoleBinding' },
    ],
    [
      'without a Secret',
      { accessProblems: [{ reason: 'SecretNotFound', message: 'there is no Secret' }] },
      { AgentAccess: 'False SecretNotFound', Ready: 'False SecretNotFound' },
    ],
    ['of commit statuses that are posted', { spec: posting }, { CommitStatus: 'True Posting' }],
    [
      'of commit statuses right after a start',
      { spec: posting, commitStatusProblem: 'unknown' },
      { CommitStatus: 'Unknown Pending' },
    ],
    ...overSsh.map(([name, sshKey, state]): Row<Given> => {
      return [`over ssh ${name}`, { spec: ssh(sshKey) }, hostKey(state)];
    }),
    ...([hostKeyFailure, 'KnownHostsMissing'] as const).map((reason): Row<Given> => {
      const state = `False ${reason}`;
      const codes = { ...hostKey(state), RefResolved: state, Ready: state, Stalled: `True ${reason}` };
      const resolution = failed({ reason, message: 'bad key', transient: false });
      return [`over ssh, with the failure ${reason}`, { resolution }, codes, 'bad key'];
    }),
    ...ofRollouts.map(([name, rollout, ...expected]): Row<Given> => {
      return [`of a rollout that ${name}`, { rollout }, ...expected];
    }),
    ["of a rollout that hasn't begun", { spec: { rollout: {} }, isHeldBack: true }, rolledOut('Unknown', 'Waiting')],
    [
      "of a rollout that hasn't begun, with a wrong window",
      { spec: { rollout: {} }, isHeldBack: true, rolloutProblems: ['one'] },
      rolledOut('False', 'InvalidRollout', 'InvalidRollout'),
    ],
    ['of a rollout in progress', { rollout: { phase: 'Progressing' } }, rolledOut('Unknown', 'Progressing'), 'words'],
    [
      'of a rollout after which another commit waits',
      { rollout: { phase: 'Complete', nextCommit: 'c' } },
      rolledOut('Unknown', 'Waiting'),
    ],
    [
      'of a rollout whose gateways preview the commit',
      { rollout: { phase: 'Previewing' } },
      rolledOut('Unknown', 'Previewing'),
    ],
    [
      'of a rollout with wrong rules',
      { rollout: { phase: 'Complete' }, rolloutProblems: ['one', 'two'] },
      rolledOut('False', 'InvalidRollout', 'InvalidRollout'),
      'one; two',
    ],
    [
      'of a rollout that stopped, without pods',
      { rollout: { phase: 'Stopped' }, ...noPods },
      { ...stopped, AllGatewaysSynced: 'Unknown NoGateways' },
    ],
  ];
  for (const [name, given, codes, fact = ''] of cases)
    test(name, () => {
      const verdicts = judge(given);
      assert.deepEqual(codesOf(verdicts), { ...healthy, ...codes });
      const [first = 'Ready'] = Object.keys(codes) as (keyof Verdicts)[];
      assert.ok(verdicts[first]?.message.includes(fact), fact);
    });

  test('keep their message and generation while the host is queried', () => {
    const { RefResolved, Stalled } = judge({ resolution: asking(false), status: erring });
    assert.deepEqual(RefResolved, omit(condition('RefResolved', 'False', 'GitUnreachable'), 'type'));
    assert.deepEqual(Stalled, omit(condition('Stalled', 'True', 'GitUnreachable'), 'type'));
  });

  test('of a rollout without a message are valid', () => {
    assert.equal(judge({ rollout: { phase: 'Complete', message: undefined as never } }).RolledOut?.message, '');
  });

  test('count profiles', () => {
    const { ProfilesValid } = judge({ spec: { sync: { profiles: { a: mapping, b: mapping } } } });
    assert.equal(ProfilesValid?.message, '2 profiles');
  });
});

suite('conditions are merged', () => {
  const now = Date.parse('2026-02-02T10:00:00.987Z');
  const before = [condition('Ready', 'True', 'Synced')];

  test('with the time of their last change, in whole seconds', () => {
    const at = { now, generation: 7 };
    const verdicts: Verdicts = {
      Ready: { status: 'True', reason: 'NoGateways', message: 'm' },
      Stalled: { status: 'False', reason: 'Progressing', message: 'n', observedGeneration: 5 },
    };
    assert.deepEqual(mergeConditions(before, verdicts, at), [
      { type: 'Ready', ...verdicts.Ready, lastTransitionTime: '2026-01-01T00:00:00Z', observedGeneration: 7 },
      { type: 'Stalled', ...verdicts.Stalled, lastTransitionTime: '2026-02-02T10:00:00Z' },
    ]);
    const [changed] = mergeConditions(before, { Ready: { status: 'False', reason: 'Synced', message: 'm' } }, at);
    assert.equal(changed?.lastTransitionTime, '2026-02-02T10:00:00Z');
  });

  test('with messages that fit into status', () => {
    const verdicts: Verdicts = { Ready: { status: 'True', reason: 'Synced', message: `x${'😀'.repeat(600)}` } };
    const [{ message } = { message: '' }] = mergeConditions(undefined, verdicts, { now, generation: 1 });
    assert.equal(message.length, 1_024);
    assert.ok(message.isWellFormed());
  });
});
