import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { apply, kubectl } from '../../support/cluster.ts';
import { sample } from '../../support/depth.ts';
import { gatewayPod } from '../../support/gateway-pods.ts';
import { applyGatewaySync } from '../../support/gateway-syncs.ts';
import { until } from '../../support/until.ts';
import { createPod, type InjectionWorld, type Pod, sidecarOf, startInjection } from './injection-world.ts';

const git = { repo: 'http://127.0.0.1:1/app.git' };
const selector = { matchLabels: { app: 'gateway' } };

/** The pod template of a workload; `spec` overrides its fields. */
function template(spec: object = {}) {
  const { metadata, spec: podSpec } = gatewayPod('', '');
  return {
    metadata: { annotations: metadata.annotations, labels: selector.matchLabels },
    spec: { ...podSpec, ...spec },
  };
}

const claim = {
  metadata: { name: 'data' },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
};

const claiming = { serviceName: 'gateway', volumeClaimTemplates: [claim] };

/** Kinds of workloads whose controllers create pods, and their number. */
const workloads: [kind: string, apiVersion: string, spec: object, pods: number][] = [
  ['Deployment', 'apps/v1', { selector, replicas: 2, template: template() }, 2],
  ['StatefulSet', 'apps/v1', { ...claiming, selector, template: template({ volumes: [] }) }, 1],
  ['DaemonSet', 'apps/v1', { selector, template: template() }, 1],
  ['Job', 'batch/v1', { template: template({ restartPolicy: 'Never' }) }, 1],
];

async function podsOf(namespace: string): Promise<Pod[]> {
  const { items } = JSON.parse(await kubectl('get', 'pods', '--namespace', namespace, '--output', 'json'));
  return items as Pod[];
}

/** A node for DaemonSets; it runs nothing. */
async function createNode(t: TestContext, name: string): Promise<void> {
  await apply({ apiVersion: 'v1', kind: 'Node', metadata: { name } });
  t.after(() => kubectl('delete', 'node', name));
}

suite('the pods of a workload get the sidecar', { concurrency: 4 }, () => {
  for (const [kind, apiVersion, spec, count] of sample(workloads))
    test(kind, async (t) => {
      const world = await startInjection(t);
      const { namespace } = world;
      await applyGatewaySync({ namespace, name: 'app' }, { ...git });
      if (kind === 'DaemonSet') await createNode(t, namespace);
      await apply({ apiVersion, kind, metadata: { name: 'gateway', namespace }, spec });
      const pods = await until(() => podsOf(namespace), {
        describe: `the pods of the ${kind}`,
        accept: ({ length }) => length === count,
      });
      for (const pod of pods) {
        assert.equal(sidecarOf(pod).restartPolicy, 'Always');
        assert.match(pod.metadata.name, /^gateway-/);
        assert.equal(pod.metadata.labels['sync.io/agent'], 'true');
        assert.ok(sidecarOf(pod).volumeMounts.some(({ name }) => name === 'data'));
      }
      assert.deepEqual(await world.countReviews(), { patched: count });
    });
});

const part = { name: 'data', mountPath: '/d', subPath: 'site', readOnly: true };

/** Fields of a pod's spec that make injection harder, with a check of the resulting pod. */
const shapes: [what: string, spec: object, check: (pod: Pod) => void][] = [
  [
    'init containers of its own, which come first',
    {
      initContainers: [
        { name: 'chown', image: 'x' },
        { name: 'proxy', image: 'x', restartPolicy: 'Always' },
      ],
    },
    ({ spec }) =>
      assert.deepEqual(
        spec.initContainers?.map(({ name }) => name),
        ['chown', 'proxy', 'sync-agent'],
      ),
  ],
  [
    'the network of the host, where the scheduler must see its ports',
    { hostNetwork: true },
    (pod) =>
      assert.deepEqual(
        sidecarOf(pod).ports.map(({ hostPort }) => hostPort),
        [8082, 8083],
      ),
  ],
  [
    'no token mounted',
    { automountServiceAccountToken: false },
    (pod) => assert.ok(sidecarOf(pod).volumeMounts.some(({ name }) => name === 'sync-agent-token')),
  ],
  [
    'a part of the volume, read-only',
    { containers: [{ name: 'gateway', image: 'x', volumeMounts: [part] }] },
    (pod) => assert.equal(sidecarOf(pod).volumeMounts.find(({ name }) => name === 'data')?.subPath, 'site'),
  ],
  [
    'resources of the whole pod',
    { resources: { limits: { memory: '128Mi', cpu: '100m' } } },
    (pod) => assert.ok(sidecarOf(pod)),
  ],
];

suite('a pod is injected if it has', () => {
  test('an unusual shape', async (t) => {
    const world = await startInjection(t);
    const { namespace } = world;
    await applyGatewaySync({ namespace, name: 'app' }, { ...git });
    for (const [index, [what, spec, check]] of shapes.entries())
      await t.test(what, async () => {
        const pod = gatewayPod(namespace, `gateway-${index}`);
        const injected = await createPod({ ...pod, spec: { ...pod.spec, ...spec } });
        check(injected);
        sidecarOf(injected);
      });
    await t.test('a generated name', async () => {
      const { metadata, ...pod } = gatewayPod(namespace, '');
      const injected = await createPod({ ...pod, metadata: { ...metadata, name: undefined, generateName: 'press-' } });
      assert.match(injected.metadata.name, /^press-/);
      const name = sidecarOf(injected).env.find((variable) => variable.name === 'GATEWAY_NAME');
      assert.equal(name?.valueFrom?.fieldRef.fieldPath, 'metadata.name');
    });
    await t.test('been injected before, and copied', async () => {
      const { metadata, spec } = await createPod(gatewayPod(namespace, 'original'));
      const { annotations, labels } = metadata;
      const copy = { apiVersion: 'v1', kind: 'Pod', spec: { ...spec, nodeName: undefined } };
      sidecarOf(await createPod({ ...copy, metadata: { name: 'copy', namespace, annotations, labels } }));
      const bare = { name: 'bare', namespace, annotations: { 'sync.io/inject': 'true' } };
      const again = await createPod({ ...copy, metadata: bare });
      sidecarOf(again);
      assert.equal(again.metadata.labels['sync.io/agent'], 'true');
      assert.equal(again.metadata.annotations['sync.io/cr-name'], 'app');
    });
  });

  test('to meet the restricted Pod Security Standard', async (t) => {
    const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
    const { namespace } = await startInjection(t, { labels });
    const auth = { token: { secretRef: { name: 'git', key: 'token' } } };
    await applyGatewaySync({ namespace, name: 'app' }, { repo: 'https://git.test/app.git', auth });
    const pod = gatewayPod(namespace, 'gateway-0');
    const strict = { runAsNonRoot: true, allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } };
    const securityContext = { ...strict, seccompProfile: { type: 'RuntimeDefault' } };
    const containers = pod.spec.containers.map((container) => ({ ...container, securityContext }));
    sidecarOf(await createPod({ ...pod, spec: { ...pod.spec, containers } }));
  });
});

suite('the image of the sidecar', () => {
  test('has to be from an allowed repository', async (t) => {
    const environment = { AGENT_IMAGE_ALLOWED_REPOSITORIES: 'mirror.test/agent, team.test/*' };
    const { namespace }: InjectionWorld = await startInjection(t, { environment });
    const use = (repository: string) =>
      applyGatewaySync({ namespace, name: 'app' }, { ...git }, { agent: { image: { repository } } });
    await use('team.test/tools/agent');
    assert.equal(
      sidecarOf(await until(() => createPod(gatewayPod(namespace, 'good')), { describe: 'a pod' })).image,
      'team.test/tools/agent:1.2.3',
    );
    await use('evil.test/agent');
    await until(() => createPod(gatewayPod(namespace, 'bad')).then(() => '', String), {
      describe: 'a denial',
      accept: (text) => /spec\.agent\.image\.repository is evil\.test\/agent.*allows .*mirror\.test\/agent/.test(text),
    });
  });
});
