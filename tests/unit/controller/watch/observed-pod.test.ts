import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { gatewayNameOf } from '../../../../agent/plan/template-values.ts';
import type { AdmittedPod } from '../../../../controller/injection/admitted-pod.ts';
import { injectSidecar } from '../../../../controller/injection/inject-sidecar.ts';
import { type Pod, projectPod } from '../../../../controller/watch/observed-pod.ts';
import { projectReport } from '../../../../controller/watch/observed-report.ts';
import { fingerprintOf, projectRoleBinding } from '../../../../controller/watch/observed-role-binding.ts';
import type { SyncReport } from '../../../../shared/api/sync-report.ts';
import { rolloutKey } from '../../../../shared/domain/rollout/waves.ts';
import { clip } from '../../../../shared/domain/text/text.ts';
import { gatewaySpecOf, syncReportOf } from '../../../support/objects.ts';

type Env = NonNullable<NonNullable<Pod['spec']['initContainers']>[number]['env']>;

interface Named {
  annotations?: Record<string, string>;
  labels?: Record<string, string>;
}

const NAME = 'sync.io/gateway-name';
const LABEL = 'app.kubernetes.io/name';
const named = { namespace: 'plant', name: 'gateway-0', uid: 'u' };
const created = { ...named, resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' };

/** A minimal gateway pod. */
const gateway: Pod = {
  metadata: { ...created, annotations: { 'sync.io/cr-name': 'app' } },
  spec: { initContainers: [{ name: 'sync-agent' }] },
};

/** The environment of the sidecar that is injected into such a pod. */
function injectedInto(metadata: Named): Env {
  const spec = gatewaySpecOf();
  const pod: AdmittedPod = {
    metadata: { ...metadata, annotations: { 'sync.io/inject': 'true', ...metadata.annotations } },
    spec: {
      containers: [{ name: 'gateway', volumeMounts: [{ name: 'data', mountPath: '/data' }] }],
      volumes: [{ name: 'data', emptyDir: {} }],
    },
  };
  const candidates = [{ name: 'app', profiles: Object.keys(spec.sync.profiles), spec }];
  const images = { defaultImage: 'registry.test/agent:1', allowedRepositories: [] };
  const injection = injectSidecar({ pod, namespace: 'plant', candidates, images });
  assert.equal(injection.kind, 'patched');
  const added = injection.patch.find(({ path }) => path.startsWith('/spec/initContainers'))?.value as { env: Env }[];
  return [added].flat()[0]?.env ?? [];
}

function observe({ annotations, labels }: Named, env: Env) {
  const metadata = { ...created, annotations: { 'sync.io/cr-name': 'app', ...annotations }, ...(labels && { labels }) };
  return projectPod({ metadata, spec: { initContainers: [{ name: 'sync-agent', env }] } });
}

/** The same in the agent: the kubelet replaces `$$` with `$`. */
function nameInAgent(env: Env, { labels = {} }: Named): string {
  const variable = env.find(({ name }) => name === 'GATEWAY_NAME');
  const value = variable?.valueFrom ? created.name : variable?.value?.replaceAll('$$', () => '$');
  return gatewayNameOf({ podName: created.name, gatewayName: value }, new Map(Object.entries(labels)));
}

suite("a gateway's name is the one that its agent uses", () => {
  const labeled = { labels: { [LABEL]: 'x' } };
  const cases: [what: string, first: Named, then: Named][] = [
    ['whose annotation is edited', { annotations: { [NAME]: 'one' } }, { annotations: { [NAME]: 'two' } }],
    ['whose annotation is removed', { annotations: { [NAME]: 'one' }, ...labeled }, labeled],
    ['whose label is edited', { labels: { [LABEL]: 'one' } }, { labels: { [LABEL]: 'two' } }],
    ['that had neither', {}, { annotations: { [NAME]: 'one' }, labels: { [LABEL]: 'two' } }],
    ['with dollar signs', { annotations: { [NAME]: '$(POD_UID) $$ $' } }, {}],
  ];
  for (const [what, first, then] of cases) {
    test(`for a pod ${what}`, () => {
      const env = injectedInto(first);
      const { gatewayName, name } = observe(then, env);
      assert.equal(rolloutKey(gatewayName, name), rolloutKey(nameInAgent(env, then), created.name));
    });
  }

  test('for a sidecar without a configured name', () => {
    const metadata = { annotations: { [NAME]: 'unknown to the agent' }, labels: { [LABEL]: 'edge' } };
    assert.equal(observe(metadata, []).gatewayName, 'edge');
    assert.equal(observe({ annotations: metadata.annotations }, []).gatewayName, 'gateway-0');
  });

  test('for a pod without a sidecar, as shown to users', () => {
    const metadata = { ...created, annotations: { 'sync.io/inject': 'true', [NAME]: 'Press 3' } };
    assert.equal(projectPod({ metadata, spec: {} }).gatewayName, 'Press 3');
  });
});

test("a pod's profile is the one that its agent got, whatever is edited on the pod", () => {
  const env = injectedInto({});
  assert.equal(observe({ annotations: { 'sync.io/profile': 'held' } }, env).profile, 'default');
  const metadata = { ...created, annotations: { 'sync.io/inject': 'true', 'sync.io/profile': 'held' } };
  assert.equal(projectPod({ metadata, spec: {} }).profile, 'held');
});

suite('the cached start problem of a pod', () => {
  type Status = NonNullable<Pod['status']>;
  const at = '2026-11-22T12:00:00Z';
  const shown = (status: Status) => {
    const { notReadySince, readySince, crashedAt, isUnstarted } = projectPod({ ...gateway, status });
    return { notReadySince, readySince, crashedAt, isUnstarted };
  };
  const statusOf = (isReady: boolean, ...containers: object[]): Status => ({
    conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False', lastTransitionTime: at }],
    ...(containers.length > 0 && { containerStatuses: containers.map((fields) => ({ name: 'gateway', ...fields })) }),
  });
  const time = Date.parse(at);
  const unknown = { notReadySince: undefined, readySince: undefined, crashedAt: undefined, isUnstarted: false };
  const unready = { ...unknown, notReadySince: time };
  const ready = { ...unknown, readySince: time };
  const running = { state: { running: {} } };
  const waits = (reason: string) => ({ state: { waiting: { reason } } });
  const ended = (exitCode: number) => ({ lastState: { terminated: { exitCode, finishedAt: at } } });
  const crashLoop = { ...waits('CrashLoopBackOff'), ...ended(1) };
  const rows: [what: string, status: Status, expected: ReturnType<typeof shown>][] = [
    ['ready', statusOf(true), ready],
    ['not ready, and runs', statusOf(false, running), unready],
    ['without a node', statusOf(false), { ...unready, isUnstarted: true }],
    ['without one image', statusOf(false, running, waits('ImagePullBackOff')), { ...unready, isUnstarted: true }],
    ['that crashes again and again', statusOf(false, crashLoop), { ...unready, crashedAt: time }],
    ['that runs after a crash', statusOf(true, { ...running, ...ended(137) }), { ...ready, crashedAt: time }],
    ['that runs again after an end without an error', statusOf(true, { ...running, ...ended(0) }), ready],
  ];
  for (const [what, status, expected] of rows) test(what, () => assert.deepEqual(shown(status), expected));
});

suite('the cached fields', () => {
  const createdAt = Date.parse(created.creationTimestamp);
  const sidecar = { name: 'sync-agent', env: [{ name: 'PROFILE', value: 'line' }] };
  const annotations = { 'sync.io/inject': 'true', 'sync.io/cr-name': 'app' };
  const kept = { ...named, live: true };
  const asking = { ...kept, crName: 'app', gatewayName: 'gateway-0', serviceAccountName: 'runner' };

  test('of a pod', () => {
    const metadata = { ...created, annotations, labels: { b: '2', a: '1' } };
    const terminated = { exitCode: 2, startedAt: '2026-01-01T00:00:30Z', finishedAt: '2026-01-01T00:00:40Z' };
    const status = {
      phase: 'Running',
      conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:01:00Z' }],
      initContainerStatuses: [{ name: 'sync-agent', state: { running: { startedAt: '2026-01-01T00:00:10Z' } } }],
      containerStatuses: [
        { name: 'gateway', state: { running: { startedAt: '2026-01-01T00:00:20Z' } } },
        { name: 'other', lastState: { terminated } },
      ],
    };
    assert.deepEqual(
      projectPod({ metadata, spec: { serviceAccountName: 'runner', initContainers: [sidecar] }, status }),
      {
        ...asking,
        profile: 'line',
        sidecar: 'present',
        createdAt,
        hasAgentRun: true,
        labels: { a: '1', b: '2' },
        readySince: createdAt + 60_000,
        notReadySince: undefined,
        isUnstarted: false,
        crashedAt: createdAt + 40_000,
        restartedAt: createdAt + 40_000,
        runsSince: createdAt + 30_000,
        waiting: undefined,
        userUnset: true,
      },
    );
  });

  test('of a pod without any status yet', () => {
    const { hasAgentRun, readySince, notReadySince, isUnstarted, runsSince, waiting } = projectPod(gateway);
    assert.deepEqual([notReadySince, isUnstarted], [createdAt, true]);
    assert.deepEqual([hasAgentRun, readySince, runsSince, waiting], [false, undefined, undefined, undefined]);
  });

  test('of a pod that requests the sidecar include its identity', () => {
    const metadata = { ...created, annotations, labels: { a: '1' } };
    const pod = projectPod({ metadata, spec: { serviceAccountName: 'runner' } });
    assert.deepEqual(pod, { ...asking, profile: 'default', sidecar: 'missing' });
  });

  test("of a pod that isn't a gateway are its name only", () => {
    const metadata = { ...created, labels: { a: '1', [LABEL]: 'x' }, annotations: { [NAME]: 'y' } };
    const unrelated = { ...kept, crName: undefined, gatewayName: '', profile: '', serviceAccountName: '' };
    const pod = projectPod({ metadata, spec: { serviceAccountName: 'runner' } });
    assert.deepEqual(pod, { ...unrelated, sidecar: 'unasked' });
    const unasked = { ...metadata, annotations: { 'sync.io/cr-name': 'app' } };
    assert.equal(projectPod({ metadata: unasked, spec: {} }).labels, undefined);
    assert.deepEqual(projectPod({ metadata, spec: gateway.spec }), { ...unrelated, sidecar: 'present' });
  });

  test("of a pod that terminates, or has terminated, show that it isn't a gateway", () => {
    const live = (phase: string, more: object = {}) =>
      projectPod({ metadata: { ...created, ...more }, spec: {}, status: { phase } }).live;
    for (const phase of ['Pending', 'Running', 'Unknown']) assert.equal(live(phase), true, phase);
    for (const phase of ['Succeeded', 'Failed']) assert.equal(live(phase), false, phase);
    assert.equal(live('Running', { deletionTimestamp: '2026-01-02T00:00:00Z' }), false);
  });

  test('of a pod include whether it has the sidecar, and the user ID of that', () => {
    const metadata = { ...created, annotations };
    const shown = (spec: Pod['spec'], podMetadata: Pod['metadata'] = metadata) => {
      const { sidecar: state, userUnset } = projectPod({ metadata: podMetadata, spec });
      return [state, userUnset];
    };
    const user = { securityContext: { runAsUser: 0 } };
    assert.deepEqual(shown({}), ['missing', undefined]);
    assert.deepEqual(shown({}, { ...created, annotations: { 'sync.io/inject': 'True' } }), ['unasked', undefined]);
    assert.deepEqual(shown({ containers: [sidecar] }), ['present', true]);
    assert.deepEqual(shown({ initContainers: [{ name: 'x' }, sidecar] }), ['present', true]);
    assert.deepEqual(shown({ containers: [{ ...sidecar, ...user }] }), ['present', false]);
    assert.deepEqual(shown({ containers: [sidecar], ...user }), ['present', false]);
  });

  const owners = [
    { apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'n' },
    { apiVersion: 'v1', kind: 'Pod', name: 'gateway-0', uid: 'u' },
  ];
  const reportOf = (status: object | undefined, ownerReferences = owners) =>
    ({ ...syncReportOf({ metadata: { ...created, ownerReferences } }), status }) as SyncReport;

  test('of a report include the state of the gateway', () => {
    const used = {
      state: 'Synced',
      generation: 2,
      commit: 'c',
      ref: 'v1',
      revision: 'r',
      rollout: 3,
      hasFailed: false,
      time: '2026-01-01T00:00:00Z',
      duration: '1s',
      verification: 'Passed',
      message: 'm',
      agentVersion: '1.0.0',
      files: { added: 1, modified: 2, deleted: 3, unchanged: 4 },
    };
    const unused = { podUID: 'u', gateway: 'g', profile: 'p', crName: 'app', changes: ['a'], inspection: { id: 'i' } };
    const plan = { commit: 'c', revision: 'r', digest: 'd', added: 1, modified: 2, deleted: 3 };
    const status = { ...used, ...unused, preview: { ...plan, paths: ['add a'], failure: 'f'.repeat(300) } };
    const shown = { ...plan, failure: 'f'.repeat(200) };
    assert.deepEqual(projectReport(reportOf(status)), { podUID: 'u', status: { ...used, preview: shown } });
    for (const empty of [undefined, { commit: 'c' }])
      assert.deepEqual(projectReport(reportOf(empty)), { podUID: 'u', status: undefined });
  });

  test("of a report include the error of its agent's clock, in a stable number", () => {
    const noon = Date.parse('2026-01-01T12:00:00Z');
    const iso = (seconds: number) => new Date(noon + seconds * 1_000).toISOString();
    const reported = (seconds: number, previous?: ReturnType<typeof projectReport>) => {
      const managedFields = [{ time: iso(0), fieldsV1: { 'f:status': {} } }];
      const report = reportOf({ state: 'Synced', reportedAt: iso(seconds) });
      const stamped = { ...report, metadata: { ...report.metadata, managedFields } };
      return projectReport(stamped, previous);
    };
    const skews = (...seconds: number[]) => {
      let previous: ReturnType<typeof projectReport> | undefined;
      return seconds.map((each) => {
        previous = reported(each, previous);
        return previous.clockSkew;
      });
    };
    assert.deepEqual(skews(0, 30, 31, 29, 26, 0), [undefined, undefined, 31, 31, 31, undefined]);
    assert.deepEqual(skews(-1_200, -1_196, -1_205, -1_190), [-1_200, -1_200, -1_200, -1_190]);
    assert.equal(skews(1e12)[0], 2_147_483_647, 'what an agent makes up has a bound');
    const other = { podUID: 'another', status: undefined, clockSkew: 34 };
    assert.equal(reported(30, other).clockSkew, undefined, 'that was another pod');
  });

  test('of a report include its pod, which owns the report', () => {
    assert.equal(projectReport(reportOf({ state: 'Synced' })).podUID, 'u');
    assert.equal(projectReport(reportOf({ state: 'Synced' }, owners.slice(0, 1))).podUID, undefined);
  });

  const resource = { apiVersion: 'sync.io/v1alpha1', kind: 'GatewaySync', name: 'app', uid: 'app' };
  const podOwner = (uid: string) => ({ apiVersion: 'v1', kind: 'Pod', name: uid, uid });
  const binding = {
    metadata: {
      ...created,
      name: 'sync-agent-app',
      labels: { 'app.kubernetes.io/managed-by': 'sync-controller' },
      ownerReferences: [resource, podOwner('p')],
    },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'sync-agent' },
    subjects: [
      { kind: 'ServiceAccount', name: 'runner', namespace: 'plant' },
      { kind: 'ServiceAccount', name: 'default', namespace: 'plant' },
    ],
  };

  test('of a RoleBinding', () => {
    assert.deepEqual(projectRoleBinding(binding), {
      roleRef: 'ClusterRole/sync-agent',
      ownerUID: 'app',
      subjects: fingerprintOf(['default', 'runner']),
      podUIDs: ['p'],
      isOurs: true,
    });
    const ownerReferences = Array.from({ length: 9 }, (_, index) => podOwner(`${index}`));
    const { podUIDs, ownerUID } = projectRoleBinding({ ...binding, metadata: { ...created, ownerReferences } });
    assert.deepEqual([podUIDs.length, ownerUID], [8, undefined]);
    assert.equal(projectRoleBinding({ metadata: created, roleRef: binding.roleRef }).subjects, fingerprintOf([]));
  });

  test('of a RoleBinding show that it can contain foreign subjects', () => {
    const elsewhere = [{ kind: 'ServiceAccount', name: 'default', namespace: 'other' }];
    for (const subjects of [elsewhere, [{ kind: 'Group', name: 'default', namespace: 'plant' }]])
      assert.notEqual(projectRoleBinding({ ...binding, subjects }).subjects, fingerprintOf(['default']));
    assert.notEqual(fingerprintOf(['a']), fingerprintOf(['a', 'b']));
  });

  test('of a RoleBinding show whether it is ours', () => {
    const isOurs = (metadata: object) =>
      projectRoleBinding({ ...binding, metadata: { ...binding.metadata, ...metadata } }).isOurs;
    assert.equal(isOurs({ ownerReferences: [] }), true, 'where all owners are gone');
    assert.equal(isOurs({ ownerReferences: [podOwner('p')] }), true, 'where only pods are left');
    for (const changed of [
      { labels: {} },
      { labels: { 'app.kubernetes.io/managed-by': 'helm' } },
      { name: 'sync-agent-x' },
    ])
      assert.equal(isOurs(changed), false);
    for (const changed of [{ kind: 'Deployment' }, { apiVersion: 'apps/v1' }, { name: 'other' }])
      assert.equal(isOurs({ ownerReferences: [{ ...resource, ...changed }] }), false);
    assert.equal(isOurs({ ownerReferences: [{ ...podOwner('p'), apiVersion: 'v2' }] }), false);
  });

  test('of a text contain its first characters, all whole', () => {
    assert.deepEqual([clip('abc', 3), clip('abcd', 3), clip(undefined, 3), clip('', 0)], ['abc', 'abc', undefined, '']);
    assert.equal(clip('ab\u{1f600}', 3), 'ab\ufffd');
    assert.equal(clip('\ud800', 3), '\ufffd');
  });
});
