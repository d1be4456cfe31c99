import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { gatewayNameOf } from '../../../../agent/plan/template-values.ts';
import type { AdmittedPod } from '../../../../controller/injection/admitted-pod.ts';
import { injectSidecar } from '../../../../controller/injection/inject-sidecar.ts';
import { type Pod, projectPod } from '../../../../controller/watch/observed-pod.ts';
import { rolloutKey } from '../../../../shared/domain/waves.ts';
import { gatewaySpec } from '../support/gateway-specs.ts';

type Env = NonNullable<NonNullable<Pod['spec']['initContainers']>[number]['env']>;

interface Named {
  annotations?: Record<string, string>;
  labels?: Record<string, string>;
}

const NAME = 'sync.io/gateway-name';
const LABEL = 'app.kubernetes.io/name';
const created = {
  namespace: 'plant',
  name: 'gateway-0',
  uid: 'u',
  resourceVersion: '1',
  creationTimestamp: '2026-01-01T00:00:00Z',
};

/** The environment that a pod's sidecar gets when it is created like this. */
function injectedInto(metadata: Named): Env {
  const spec = gatewaySpec();
  const pod: AdmittedPod = {
    metadata: {
      generateName: 'gateway-',
      ...metadata,
      annotations: { 'sync.io/inject': 'true', ...metadata.annotations },
    },
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

const observe = (metadata: Named, env: Env) =>
  projectPod({ metadata: { ...created, ...metadata }, spec: { initContainers: [{ name: 'sync-agent', env }] } });

/** The same as the agent has it: the kubelet turns `$$` into `$`. */
function nameInAgent(env: Env, { labels = {} }: Named): string {
  const variable = env.find(({ name }) => name === 'GATEWAY_NAME');
  const value = variable?.valueFrom ? created.name : variable?.value?.replaceAll('$$', () => '$');
  return gatewayNameOf({ podName: created.name, gatewayName: value }, new Map(Object.entries(labels)));
}

suite("a gateway's name is that of its agent", () => {
  const cases: [what: string, first: Named, then: Named][] = [
    ['whose annotation is edited', { annotations: { [NAME]: 'one' } }, { annotations: { [NAME]: 'two' } }],
    [
      'whose annotation is removed',
      { annotations: { [NAME]: 'one' }, labels: { [LABEL]: 'x' } },
      { labels: { [LABEL]: 'x' } },
    ],
    ['whose label is edited', { labels: { [LABEL]: 'one' } }, { labels: { [LABEL]: 'two' } }],
    ['that had neither', {}, { annotations: { [NAME]: 'one' }, labels: { [LABEL]: 'two' } }],
    ['with dollar signs', { annotations: { [NAME]: '$(POD_UID) $$ $' } }, {}],
  ];
  for (const [what, first, then] of cases) {
    test(`of a pod ${what}`, () => {
      const env = injectedInto(first);
      const { gatewayName, name } = observe(then, env);
      assert.equal(rolloutKey(gatewayName, name), rolloutKey(nameInAgent(env, then), created.name));
    });
  }

  test('of a sidecar that is told no name', () => {
    const metadata = { annotations: { [NAME]: 'unknown to the agent' }, labels: { [LABEL]: 'edge' } };
    assert.equal(observe(metadata, []).gatewayName, 'edge');
    assert.equal(observe({ annotations: metadata.annotations }, []).gatewayName, 'gateway-0');
  });

  test('of a pod without a sidecar, for people', () => {
    const metadata = { ...created, annotations: { [NAME]: 'Press 3' } };
    assert.equal(projectPod({ metadata, spec: {} }).gatewayName, 'Press 3');
  });
});

test("a pod's profile is the one that its agent was told, whatever is edited on the pod", () => {
  const env = injectedInto({});
  assert.equal(observe({ annotations: { 'sync.io/profile': 'held' } }, env).profile, 'default');
  const metadata = { ...created, annotations: { 'sync.io/profile': 'held' } };
  assert.equal(projectPod({ metadata, spec: {} }).profile, 'held');
});

suite('what a pod shows of itself', () => {
  type Status = NonNullable<Pod['status']>;
  const at = '2026-11-22T12:00:00Z';
  const ready = (status: string) => [{ type: 'Ready', status, lastTransitionTime: at }];
  const container = (fields: object) => ({ name: 'gateway', ...fields });
  const shown = (status: Status | undefined) => {
    const { notReadySince, readySince, crashedAt, isUnstarted } = projectPod({
      metadata: created,
      spec: {},
      ...(status && { status }),
    });
    return { notReadySince, readySince, crashedAt, isUnstarted };
  };
  const time = Date.parse(at);
  const nothing = { notReadySince: undefined, readySince: undefined, crashedAt: undefined, isUnstarted: false };
  const running = { state: { running: {} } };
  const ended = (exitCode: number) => ({ terminated: { exitCode, finishedAt: at } });
  for (const [what, status, expected] of [
    ['ready', { conditions: ready('True') }, { readySince: time }],
    [
      'not ready, and runs',
      { conditions: ready('False'), containerStatuses: [container(running)] },
      { notReadySince: time },
    ],
    ['without a node', { conditions: ready('False') }, { notReadySince: time, isUnstarted: true }],
    [
      'of which one container has no image',
      {
        conditions: ready('False'),
        containerStatuses: [container(running), container({ state: { waiting: { reason: 'ImagePullBackOff' } } })],
      },
      { notReadySince: time, isUnstarted: true },
    ],
    [
      'that crashes again and again',
      {
        conditions: ready('False'),
        containerStatuses: [container({ state: { waiting: { reason: 'CrashLoopBackOff' } }, lastState: ended(1) })],
      },
      { notReadySince: time, crashedAt: time },
    ],
    [
      'that runs after a crash',
      { conditions: ready('True'), containerStatuses: [container({ ...running, lastState: ended(137) })] },
      { readySince: time, crashedAt: time },
    ],
    [
      'whose container ended well, and runs again',
      { conditions: ready('True'), containerStatuses: [container({ ...running, lastState: ended(0) })] },
      { readySince: time },
    ],
  ] as const satisfies [string, object, object][]) {
    test(what, () => assert.deepEqual(shown(status as unknown as Status), { ...nothing, ...expected }));
  }
});
