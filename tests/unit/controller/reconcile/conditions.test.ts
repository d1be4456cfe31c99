import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Resolution } from '../../../../controller/intent/resolution.ts';
import { type Facts, judgeConditions } from '../../../../controller/reconcile/conditions.ts';
import { mergeConditions, type Verdicts } from '../../../../controller/reconcile/merge-conditions.ts';
import { mergePatchOf } from '../../../../controller/reconcile/merge-patch.ts';
import { type ObservedGatewaySync, projectGatewaySync } from '../../../../controller/watch/observed-gateway-sync.ts';
import type { GatewaySyncStatus } from '../../../../shared/api/gateway-sync-status.ts';
import type { RolloutStatus } from '../../../../shared/api/rollout.ts';
import { omit } from '../../../../shared/domain/objects.ts';
import { gatewaySyncOf, type SpecInput } from '../../../support/objects.ts';
import { fc } from '../../../support/property.ts';

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
const asking = (isNews: boolean): Resolution => ({ kind: 'querying', echo: {}, isNews, forMs: 1 });
const paused: Resolution = { kind: 'paused', echo: {} };

const condition = (type: string, status: 'True' | 'False' | 'Unknown', reason: string) => ({
  type,
  status,
  reason,
  message: `of ${type}`,
  lastTransitionTime: '2026-01-01T00:00:00Z',
  observedGeneration: 1,
});
const carried = (type: string, status: 'True' | 'False' | 'Unknown', reason: string) => {
  const verdict = omit(condition(type, status, reason), 'type');
  return verdict;
};
const well: GatewaySyncStatus = {
  observedGeneration: 2,
  lastSyncCommit: 'b'.repeat(40),
  refResolutionStatus: 'Resolved',
  conditions: [condition('RefResolved', 'True', 'Resolved'), condition('Ready', 'True', 'Synced')],
};
const erring: GatewaySyncStatus = {
  ...well,
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
  rollout?: Partial<RolloutStatus>;
}

function judge({ counts, status = {}, spec = {}, orders, rollout, ...facts }: Given): Verdicts {
  const observed = projectGatewaySync(gatewaySyncOf({ metadata: { generation: 2 }, spec, status }));
  const gatewaySync = orders ? { ...observed, orders } : observed;
  const none = { synced: 0, pending: 0, error: 0, missingSidecar: 0, paused: 0, dryRun: 0, skewed: 0 };
  return judgeConditions({
    gatewaySync,
    resolution: resolved(),
    hub: undefined,
    profileProblems: [],
    rolloutProblems: [],
    gatewayErrors: [],
    podsThatWait: [],
    wrongClocks: [],
    unaskedPods: [],
    unmade: [],
    refusal: undefined,
    accessProblems: [],
    commitStatusProblem: undefined,
    isHeldBack: false,
    isLabelRequired: false,
    counts: { ...none, summary: '2/2 synced', total: 2, ...(counts ?? { synced: 2 }) },
    rollout: rollout && ({ summary: 'summary', message: 'words', ...rollout } as RolloutStatus),
    ...facts,
  });
}

const isTrue = (reason: string, message: string) => ({ status: 'True', reason, message });
const isFalse = (reason: string, message: string) => ({ status: 'False', reason, message });
const isUnknown = (reason: string, message: string) => ({ status: 'Unknown', reason, message });

const noNeed = isFalse('Progressing', "the operator isn't stuck; see the other conditions for what gateways need");
const synced = isTrue('Synced', '2/2 synced');
const unwritten =
  'the rollout of the newest release starts when the ControllerRevision of its spec.sync has been written';
const allWell = {
  RefResolved: isTrue('Resolved', `main is ${commit}`),
  ProfilesValid: isTrue('Valid', '1 profile'),
  AllGatewaysSynced: synced,
  SidecarInjected: isTrue('Injected', 'every annotated pod has its sidecar'),
  AgentAccess: isTrue(
    'Granted',
    'the agents have their permissions, and the Secrets that the resource names exist, as far as the controller can see',
  ),
  Ready: synced,
  Stalled: noNeed,
};
const beingAsked = isUnknown('Resolving', 'the repository is being queried');
const noHost = 'the host is unreachable';
const stays = (target: string) => `the gateways keep ${target}; the last query for a newer commit failed: ${noHost}`;
const mapping = { mappings: [{ source: 'a', destination: 'b' }] };
type SshKey = NonNullable<NonNullable<SpecInput['git']['auth']>['sshKey']>;
const ssh = (sshKey: SshKey) => ({ git: { repo: 'git@git.test:a', ref: 'main', auth: { sshKey } } });
const secretRef = { name: 'ssh', key: 'key' };
const posting = { git: { repo: 'https://git.test/a', ref: 'main', commitStatus: {} } };
const insecure = isFalse(
  'InsecureIgnoreHostKey',
  "the host key isn't checked because spec.git.auth.sshKey.insecureIgnoreHostKey is set; specify known_hosts lines in spec.git.auth.sshKey.knownHosts instead",
);
const noPods = isTrue(
  'NoGateways',
  'no pod is annotated for this resource; set sync.io/inject: "true" on the pod template, and look for PodRefused events if pods are denied',
);
/** Without a gateway, although pods exist or are created. */
const refused = (message: string) => ({
  AllGatewaysSynced: isUnknown('GatewaysRefused', message),
  Ready: isFalse('GatewaysRefused', message),
});
const denied = { reason: 'ForeignRoleBinding', message: 'it is not ours' } as const;
const noSecret = { reason: 'SecretNotFound', message: 'there is no Secret' } as const;
const hostKey = (reason: 'HostKeyVerificationFailed' | 'KnownHostsMissing') =>
  failed({ reason, message: 'bad key', transient: false });

suite('the conditions of a resource', () => {
  test('are as expected for a healthy one', () => assert.deepEqual(judge({}), allWell));

  /** Differences from that; undefined for an absent condition. */
  const cases: [name: string, Given, Record<string, object | undefined>][] = [
    [
      'with a tag and a branch of one name',
      { resolution: resolved(true) },
      {
        RefResolved: isTrue(
          'AmbiguousRef',
          `main is ${commit}; a tag and a branch have this name, and the tag is used: specify refs/tags/… or refs/heads/… instead`,
        ),
      },
    ],
    [
      'while the host does not show yet what was asked for',
      { resolution: resolved(false, 5) },
      {
        Ready: isUnknown(
          'Resolving',
          "the repository doesn't have the requested commit yet; see status.lastRequest and status.lastPush",
        ),
      },
    ],
    [
      'while the host is asked for the first time',
      { resolution: asking(true) },
      { RefResolved: beingAsked, Ready: beingAsked },
    ],
    [
      'while the host is asked about something new',
      { resolution: asking(true), status: well },
      { RefResolved: carried('RefResolved', 'True', 'Resolved'), Ready: beingAsked },
    ],
    [
      'while the host is asked again, when all was well',
      { resolution: asking(false), status: well },
      { RefResolved: carried('RefResolved', 'True', 'Resolved') },
    ],
    [
      'while the host is asked again after a failure',
      { resolution: asking(false), status: erring },
      {
        RefResolved: carried('RefResolved', 'False', 'GitUnreachable'),
        Ready: carried('Ready', 'False', 'GitUnreachable'),
        Stalled: carried('Stalled', 'True', 'GitUnreachable'),
        SSHHostKeyVerification: carried('SSHHostKeyVerification', 'False', 'HostKeyVerificationFailed'),
      },
    ],
    [
      'while the host is asked about something new after a failure',
      { resolution: asking(true), status: erring },
      {
        RefResolved: carried('RefResolved', 'False', 'GitUnreachable'),
        Ready: beingAsked,
        SSHHostKeyVerification: carried('SSHHostKeyVerification', 'False', 'HostKeyVerificationFailed'),
      },
    ],
    [
      'paused before anything was resolved',
      { resolution: paused, spec: { paused: true } },
      {
        RefResolved: isUnknown('Paused', "the resource is paused; its ref isn't resolved"),
        Ready: isUnknown('Paused', 'the resource is paused'),
      },
    ],
    [
      'paused with an order',
      { resolution: paused, spec: { paused: true }, orders: { rollback: 'previous' }, rollout: { phase: 'Complete' } },
      {
        RefResolved: isUnknown('Paused', "the resource is paused; its ref isn't resolved"),
        RolledOut: isTrue('Complete', 'words'),
        Ready: isUnknown(
          'Paused',
          'the resource is paused; sync.io/rollback: previous takes effect when the resource is resumed',
        ),
      },
    ],
    [
      'paused with a commit',
      { resolution: paused, spec: { paused: true }, status: well },
      {
        RefResolved: isTrue('Paused', "the resource is paused; its ref isn't resolved"),
        Ready: isUnknown('Paused', 'the resource is paused'),
      },
    ],
    [
      'paused with a commit that was not that of its spec',
      { resolution: paused, spec: { paused: true }, status: erring },
      {
        RefResolved: isUnknown('Paused', "the resource is paused; its ref isn't resolved"),
        Ready: isUnknown('Paused', 'the resource is paused'),
      },
    ],
    [
      'when the host is unavailable',
      { resolution: failed() },
      { RefResolved: isFalse('GitUnreachable', noHost), Ready: isFalse('GitUnreachable', noHost) },
    ],
    [
      'when the host is unavailable, with a commit',
      { resolution: failed(), status: well },
      {
        RefResolved: isTrue('GitUnreachable', stays('b'.repeat(40))),
        Ready: isFalse('GitUnreachable', stays('b'.repeat(40))),
      },
    ],
    [
      'when the host is unavailable, with a commit of an earlier spec',
      { resolution: failed(), status: { ...well, observedGeneration: 1 } },
      { RefResolved: isFalse('GitUnreachable', noHost), Ready: isFalse('GitUnreachable', noHost) },
    ],
    [
      'when the host is unavailable, and said before what this spec names',
      { resolution: failed({ known: resolvedTo() }), status: { ...well, observedGeneration: 1 } },
      { RefResolved: isTrue('GitUnreachable', stays(commit)), Ready: isFalse('GitUnreachable', stays(commit)) },
    ],
    [
      'when only a person can help',
      { resolution: failed({ transient: false }) },
      {
        RefResolved: isFalse('GitUnreachable', noHost),
        Ready: isFalse('GitUnreachable', noHost),
        Stalled: isTrue('GitUnreachable', noHost),
      },
    ],
    [
      'of several profiles',
      { spec: { sync: { profiles: { a: mapping, b: mapping } } } },
      { ProfilesValid: isTrue('Valid', '2 profiles') },
    ],
    [
      'of a profile that is wrong',
      { profileProblems: ['one', 'two'] },
      {
        ProfilesValid: isFalse('InvalidProfile', 'one; two'),
        Ready: isFalse('InvalidProfile', 'one; two'),
        Stalled: isTrue('InvalidProfile', 'one; two'),
      },
    ],
    ['without pods', { counts: { total: 0 } }, { AllGatewaysSynced: { ...noPods, status: 'Unknown' }, Ready: noPods }],
    [
      'with pods that name the resource alone',
      { counts: { total: 0 }, unaskedPods: ['x', 'y'] },
      refused(
        'no pod has the sidecar; these pods have the annotation sync.io/cr-name, but not sync.io/inject: "true": x, y',
      ),
    ],
    [
      'with pods that are denied',
      { counts: { total: 0 }, refusal: 'name a profile' },
      refused('no pod has the sidecar; the newest pod was denied: name a profile'),
    ],
    [
      'without the pods that a workload wants',
      { counts: { total: 0 }, unmade: ['StatefulSet a', 'Job b'] },
      {
        AllGatewaysSynced: isUnknown('NoGateways', "pods don't exist yet: StatefulSet a; Job b"),
        Ready: isUnknown('NoGateways', "pods don't exist yet: StatefulSet a; Job b"),
      },
    ],
    ['with a pod that was denied next to one that was not', { refusal: 'name a profile' }, {}],
    [
      'with gateways that failed',
      { counts: { error: 1, synced: 1, summary: '1/2 synced' }, gatewayErrors: ['x: disk full', 'y: failed'] },
      {
        AllGatewaysSynced: isFalse('GatewaysFailed', '1/2 synced; x: disk full; y: failed'),
        Ready: isFalse('GatewaysFailed', '1/2 synced; x: disk full; y: failed'),
      },
    ],
    [
      'with a pod without its sidecar',
      { counts: { missingSidecar: 1, synced: 1, summary: '1/2 synced' } },
      {
        AllGatewaysSynced: isFalse('MissingSidecar', '1/2 synced'),
        Ready: isFalse('MissingSidecar', '1/2 synced'),
        SidecarInjected: isFalse(
          'MissingSidecar',
          '1 annotated pod(s) have no sidecar, because injection was not available when they were created; delete them',
        ),
      },
    ],
    [
      'with a pod without its sidecar where namespaces need a label',
      { counts: { missingSidecar: 1, synced: 1, summary: '1/2 synced' }, isLabelRequired: true },
      {
        AllGatewaysSynced: isFalse('MissingSidecar', '1/2 synced'),
        Ready: isFalse('MissingSidecar', '1/2 synced'),
        SidecarInjected: isFalse(
          'MissingSidecar',
          '1 annotated pod(s) have no sidecar, because injection was not available when they were created, or the namespace lacks the label sync.io/injection=enabled; set the label if it is missing, and delete the pods',
        ),
      },
    ],
    [
      'while gateways sync',
      { counts: { synced: 1, pending: 1, summary: '1/2 synced' }, podsThatWait: ['x: no node'] },
      {
        AllGatewaysSynced: isUnknown('Syncing', '1/2 synced; x: no node'),
        Ready: isUnknown('Syncing', '1/2 synced; x: no node'),
      },
    ],
    ['with gateways that rest', { counts: { paused: 1, dryRun: 1, summary: '2/2 synced' } }, {}],
    [
      'without the rights of agents',
      { accessProblems: [denied, { reason: 'GitTokenNotWritten', message: 'and more' }] },
      { AgentAccess: isFalse('ForeignRoleBinding', 'it is not ours; and more') },
    ],
    [
      'without the rights of agents that wait for them',
      { accessProblems: [denied], counts: { synced: 1, summary: '1/2 synced' } },
      {
        AgentAccess: isFalse('ForeignRoleBinding', 'it is not ours'),
        AllGatewaysSynced: isUnknown('Syncing', '1/2 synced'),
        Ready: isFalse('ForeignRoleBinding', 'it is not ours'),
      },
    ],
    [
      'without a Secret',
      { accessProblems: [noSecret] },
      {
        AgentAccess: isFalse('SecretNotFound', 'there is no Secret'),
        Ready: isFalse('SecretNotFound', 'there is no Secret'),
      },
    ],
    [
      'of commit statuses that are posted',
      { spec: posting },
      { CommitStatus: isTrue('Posting', 'commit statuses can be posted') },
    ],
    [
      'of commit statuses right after a start',
      { spec: posting, commitStatusProblem: 'unknown' },
      { CommitStatus: isUnknown('Pending', 'no commit status has been posted yet') },
    ],
    [
      'of a commit status that cannot be posted',
      { spec: posting, commitStatusProblem: { reason: 'Denied', message: 'no' } as never },
      { CommitStatus: isFalse('Denied', 'no') },
    ],
    [
      'of a commit status of which nobody knows',
      {
        spec: posting,
        commitStatusProblem: 'unknown',
        status: { conditions: [condition('CommitStatus', 'False', 'Denied')] },
      },
      { CommitStatus: carried('CommitStatus', 'False', 'Denied') },
    ],
    [
      'over ssh with known hosts',
      { spec: ssh({ secretRef, knownHosts: { secretRef: { name: 'k', key: 'h' } } }) },
      {
        SSHHostKeyVerification: isTrue('KnownHosts', 'the host key is checked against known_hosts'),
      },
    ],
    [
      'over ssh without known hosts',
      { spec: ssh({ secretRef }) },
      {
        SSHHostKeyVerification: isFalse(
          'KnownHostsMissing',
          'the host key of the git server is unknown; specify known_hosts lines in spec.git.auth.sshKey.knownHosts',
        ),
      },
    ],
    [
      'over ssh without a check',
      { spec: ssh({ secretRef, insecureIgnoreHostKey: true }) },
      { SSHHostKeyVerification: insecure },
    ],
    ...(['HostKeyVerificationFailed', 'KnownHostsMissing'] as const).map(
      (reason): [string, Given, Record<string, object>] => [
        `over ssh, with the failure ${reason}`,
        { resolution: hostKey(reason) },
        {
          RefResolved: isFalse(reason, 'bad key'),
          Ready: isFalse(reason, 'bad key'),
          Stalled: isTrue(reason, 'bad key'),
          SSHHostKeyVerification: isFalse(reason, 'bad key'),
        },
      ],
    ),
    ['of a rollout that is complete', { rollout: { phase: 'Complete' } }, { RolledOut: isTrue('Complete', 'words') }],
    [
      'of a rollout that has not begun',
      { spec: { rollout: {} }, isHeldBack: true },
      {
        RolledOut: isUnknown('Waiting', unwritten),
        Ready: isUnknown('RolloutWaiting', unwritten),
      },
    ],
    [
      'of a rollout that has not begun, with a wrong window',
      { spec: { rollout: {} }, isHeldBack: true, rolloutProblems: ['one'] },
      { RolledOut: isFalse('InvalidRollout', 'one'), Ready: isFalse('InvalidRollout', 'one') },
    ],
    [
      'of a rollout without words',
      { rollout: { phase: 'Complete', message: undefined as never } },
      { RolledOut: isTrue('Complete', '') },
    ],
    [
      'of a rollout under way',
      { rollout: { phase: 'Progressing' } },
      { RolledOut: isUnknown('Progressing', 'words'), Ready: isUnknown('RolloutProgressing', 'words') },
    ],
    [
      'of a rollout after which another commit waits',
      { rollout: { phase: 'Complete', nextCommit: 'c' } },
      { RolledOut: isUnknown('Waiting', 'words'), Ready: isUnknown('RolloutWaiting', 'words') },
    ],
    [
      'of a rollout that stopped',
      { rollout: { phase: 'Stopped' } },
      {
        RolledOut: isFalse('Stopped', 'words'),
        Ready: isFalse('RolloutStopped', 'words'),
        Stalled: isTrue('RolloutStopped', 'words'),
      },
    ],
    [
      'of a rollout whose gateways preview the commit',
      { rollout: { phase: 'Previewing' } },
      { RolledOut: isUnknown('Previewing', 'words'), Ready: isUnknown('RolloutPreviewing', 'words') },
    ],
    [
      'of a rollout that the preview stopped',
      { rollout: { phase: 'Stopped', previewFailure: 'why' } },
      {
        RolledOut: isFalse('PreviewFailed', 'words'),
        Ready: isFalse('PreviewFailed', 'words'),
        Stalled: isTrue('PreviewFailed', 'words'),
      },
    ],
    [
      'of a rollout that was taken back',
      { rollout: { phase: 'RolledBack' } },
      { RolledOut: isFalse('RolledBack', 'words'), Ready: isFalse('RolloutRolledBack', 'words') },
    ],
    [
      'of a rollout with wrong rules',
      { rollout: { phase: 'Complete' }, rolloutProblems: ['one', 'two'] },
      { RolledOut: isFalse('InvalidRollout', 'one; two'), Ready: isFalse('InvalidRollout', 'one; two') },
    ],
    [
      'of a rollout that waits for a gateway, without pods',
      { rollout: { phase: 'Progressing' }, counts: { total: 0 } },
      {
        RolledOut: isUnknown('Progressing', 'words'),
        AllGatewaysSynced: { ...noPods, status: 'Unknown' },
        Ready: noPods,
      },
    ],
    [
      'of a rollout that stopped, without pods',
      { rollout: { phase: 'Stopped' }, counts: { total: 0 } },
      {
        RolledOut: isFalse('Stopped', 'words'),
        AllGatewaysSynced: { ...noPods, status: 'Unknown' },
        Ready: isFalse('RolloutStopped', 'words'),
        Stalled: isTrue('RolloutStopped', 'words'),
      },
    ],
  ];
  for (const [name, given, expected] of cases)
    test(name, () => assert.deepEqual(judge(given), { ...allWell, ...expected }));
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
      {
        type: 'Ready',
        status: 'True',
        reason: 'NoGateways',
        message: 'm',
        lastTransitionTime: '2026-01-01T00:00:00Z',
        observedGeneration: 7,
      },
      {
        type: 'Stalled',
        status: 'False',
        reason: 'Progressing',
        message: 'n',
        lastTransitionTime: '2026-02-02T10:00:00Z',
        observedGeneration: 5,
      },
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

suite('a merge patch of a status', () => {
  /** RFC 7386, section 2. */
  function apply(target: unknown, patch: unknown): unknown {
    if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
    const isMap = typeof target === 'object' && target !== null && !Array.isArray(target);
    const result: Record<string, unknown> = isMap ? { ...target } : {};
    for (const [key, value] of Object.entries(patch)) {
      if (value === null) delete result[key];
      else result[key] = apply(result[key], value);
    }
    return result;
  }
  const leaf = fc.oneof(fc.integer({ max: 2, min: 0 }), fc.boolean(), fc.constantFrom('', 'a'));
  const json = fc.letrec<{ any: unknown }>((tie) => ({
    any: fc.oneof(
      { maxDepth: 3 },
      leaf,
      fc.array(tie('any'), { maxLength: 2 }),
      fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('any'), { maxKeys: 3, noNullPrototype: true }),
    ),
  })).any;
  const object = fc.dictionary(fc.constantFrom('a', 'b', 'c'), json, { noNullPrototype: true });

  test('turns one status into the other, and is empty if they are equal', () => {
    fc.assert(
      fc.property(object, object, (before, after) => {
        const patch = mergePatchOf(before, after);
        assert.deepEqual(patch === undefined ? before : apply(before, patch), after);
        assert.equal(mergePatchOf(after, structuredClone(after)), undefined);
      }),
    );
  });

  test('contains the new value of each key that differs, and no others', () => {
    const before = { a: 1, b: { c: 1, d: 2 }, e: [1], f: 0, g: { h: 1 } };
    assert.deepEqual(mergePatchOf(before, { a: 1, b: { c: 2, d: 2 }, e: [1, 2], g: [1] }), {
      b: { c: 2 },
      e: [1, 2],
      f: null,
      g: [1],
    });
    assert.equal(mergePatchOf({ a: undefined, b: 1 }, { b: 1, c: undefined }), undefined);
  });
});
