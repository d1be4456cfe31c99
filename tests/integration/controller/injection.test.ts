import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { freePort } from '../../../scripts/testbed/free-port.ts';
import { DENIED_NETWORKS } from '../../../shared/io/local-address.ts';
import { kubectl } from '../../support/cluster.ts';
import { slow } from '../../support/depth.ts';
import { gatewayPod } from '../../support/gateway-pods.ts';
import { applyGatewaySync } from '../../support/gateway-syncs.ts';
import { startController } from '../../support/start-controller.ts';
import { until } from '../../support/until.ts';
import { startInjection as arrange, createPod as create, sidecarOf } from './injection-world.ts';

const git = { repo: 'http://127.0.0.1:1/app.git' };

suite('a pod that requests the sidecar', { concurrency: 4 }, () => {
  test('gets it from the API server', async (t) => {
    const { namespace } = await arrange(t);
    await applyGatewaySync({ namespace, name: 'app' }, { ...git });
    const pod = await create(gatewayPod(namespace, 'gateway-0'));
    const [sidecar] = pod.spec.initContainers ?? [];
    assert.equal(sidecar?.name, 'sync-agent');
    assert.equal(sidecar?.restartPolicy, 'Always');
    assert.equal(sidecar?.image, 'registry.test:5000/agent:1.2.3');
    assert.equal(pod.metadata.annotations['sync.io/injected'], 'true');
    assert.equal(pod.metadata.annotations['sync.io/cr-name'], 'app');
    assert.equal(pod.metadata.labels['sync.io/agent'], 'true');
    const environment = Object.fromEntries(
      sidecar?.env.map(({ name, value, valueFrom }) => [name, value ?? valueFrom?.fieldRef.fieldPath]) ?? [],
    );
    assert.deepEqual(environment, {
      POD_NAME: 'metadata.name',
      POD_NAMESPACE: 'metadata.namespace',
      POD_UID: 'metadata.uid',
      NODE_NAME: 'spec.nodeName',
      POD_LABELS_FILE: '/etc/sync-agent/pod/labels',
      CR_NAME: 'app',
      PROFILE: 'default',
      GATEWAY_NAME: 'metadata.name',
      REPO_PATH: '/repo',
      DATA_PATH: '/data',
      GATEWAY_PORT: '8088',
      GATEWAY_TLS: 'false',
      GIT_ALLOW_LOCAL: 'true',
      GIT_DENIED_NETWORKS: DENIED_NETWORKS.join(','),
      HEALTH_PORT: '8082',
      METRICS_PORT: '8083',
      LOG_LEVEL: 'info',
    });
    assert.equal(sidecar?.securityContext.runAsUser, 2003);
    assert.equal(sidecar?.securityContext.readOnlyRootFilesystem, true);
    assert.ok(sidecar?.volumeMounts.some(({ name, mountPath }) => name === 'data' && mountPath === '/data'));
  });

  test('is accepted if it is applied together with its resource', slow, async (t) => {
    const { namespace } = await arrange(t);
    for (const index of [0, 1, 2]) {
      await applyGatewaySync({ namespace, name: `app-${index}` }, { ...git });
      const pod = await create(gatewayPod(namespace, `gateway-${index}`, { 'sync.io/cr-name': `app-${index}` }));
      assert.equal(pod.spec.initContainers?.[0]?.name, 'sync-agent');
    }
  });

  test('is denied with a message that names the remedy', async (t) => {
    const { namespace } = await arrange(t);
    await assert.rejects(create(gatewayPod(namespace, 'none')), / GatewaySync in namespace /);
    await applyGatewaySync({ namespace, name: 'one' }, { ...git });
    const named = { 'sync.io/cr-name': 'one' };
    const root = gatewayPod(namespace, 'root', named);
    root.spec.securityContext.runAsUser = 0;
    await assert.rejects(create(root), / user 0.* securityContext\.runAsUser/);
  });
});

suite("a pod that doesn't request the sidecar", { concurrency: 4 }, () => {
  test('stays unchanged, with and without annotations, and never reaches the webhook', slow, async (t) => {
    const { namespace, controller, countReviews } = await arrange(t);
    await applyGatewaySync({ namespace, name: 'app' }, { ...git });
    const plain = gatewayPod(namespace, 'plain');
    const { annotations: _, ...metadata } = plain.metadata;
    const values = ['false', 'True', 'TRUE', 'yes', ''];
    const others = values.map((value, index) => gatewayPod(namespace, `no-${index}`, { 'sync.io/inject': value }));
    for (const pod of [{ ...plain, metadata }, ...others])
      assert.equal((await create(pod)).spec.initContainers, undefined);
    assert.deepEqual(await countReviews(), {});
    sidecarOf(await create(gatewayPod(namespace, 'asks')));
    assert.deepEqual(await countReviews(), { patched: 1 });
    await controller.stop();
    // with failurePolicy Fail, a call to the endpoint would now be an error
    await create({ ...plain, metadata: { ...metadata, name: 'endpoint-away' } });
    await assert.rejects(create(gatewayPod(namespace, 'asks-in-vain')), /failed calling webhook/);
  });

  test('stays unchanged when it is edited to request it', slow, async (t) => {
    const { namespace, countReviews } = await arrange(t);
    await create(gatewayPod(namespace, 'late', { 'sync.io/inject': 'false' }));
    await kubectl('annotate', 'pod', 'late', '--namespace', namespace, '--overwrite', 'sync.io/inject=true');
    assert.deepEqual(await countReviews(), {});
  });
});

suite("a replica that isn't the leader", () => {
  test('injects like the leader', slow, async (t) => {
    const { namespace } = await arrange(t, { environment: { LEADER_ELECTION: 'true' } });
    await applyGatewaySync({ namespace, name: 'app' }, { ...git });
    const port = await freePort();
    const spare = await startController(t, namespace, {
      POD_NAME: 'spare',
      LEADER_ELECTION: 'true',
      WEBHOOK_PORT: String(port),
      WEBHOOK_SELF_SIGNED: namespace,
      DEFAULT_AGENT_IMAGE: 'agent:of-the-spare',
    });
    const url = `https://127.0.0.1:${port}/mutate-v1-pod`;
    const patch = JSON.stringify([{ op: 'replace', path: '/webhooks/0/clientConfig/url', value: url }]);
    await kubectl('patch', 'mutatingwebhookconfiguration', namespace, '--type=json', '--patch', patch);
    let count = 0;
    await until(() => create(gatewayPod(namespace, `gateway-${count++}`)), {
      describe: 'a pod that the spare injected',
      accept: (pod) => sidecarOf(pod).image === 'agent:of-the-spare',
    });
    await spare.waitForLog(/sidecar injected/);
  });
});
