import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { connectCluster, createNamespace } from '../support/cluster.ts';
import { until } from '../support/until.ts';
import { environmentOf, pick, render } from './support/render.ts';

const ports = { webhook: { port: 19443 }, metrics: { port: 18443 }, controller: { healthPort: 18081 } };
const values = { hostNetwork: true, ...ports };

interface Port {
  name: string;
  containerPort: number;
  hostPort?: number;
}

suite('a controller on the host network', () => {
  test('declares its ports as host ports, so that two controllers never share a node', async (t) => {
    const namespace = await createNamespace(t);
    const { spec } = pick(
      await render({ ...values, serviceAccount: { create: false, name: 'default' } }),
      'Deployment',
    );
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'controller', namespace },
      spec: spec.template.spec,
    };
    const { kubectlWith } = await connectCluster();
    const create = ['create', '--dry-run=server', '--validate=strict', '--filename=-', '--output=json'];
    const created = await until(() => kubectlWith(pod, ...create), { describe: 'the default account' });
    const [container] = JSON.parse(created).spec.containers;
    assert.deepEqual(
      container.ports.map(({ name, containerPort, hostPort }: Port) => [name, containerPort, hostPort]),
      [
        ['health', 18081, 18081],
        ['webhook', 19443, 19443],
        ['metrics', 18443, 18443],
      ],
    );
  });

  test('listens on the ports of its pod', async () => {
    const environment = environmentOf(pick(await render(values), 'Deployment'));
    const { HEALTH_PORT, METRICS_PORT, WEBHOOK_PORT } = environment;
    assert.deepEqual([HEALTH_PORT, WEBHOOK_PORT, METRICS_PORT], ['18081', '19443', '18443']);
  });

  test('resolves Services, unless the values say otherwise', async () => {
    const policyOf = async (given: object) => pick(await render(given), 'Deployment').spec.template.spec.dnsPolicy;
    assert.equal(await policyOf(values), 'ClusterFirstWithHostNet');
    assert.equal(await policyOf({ ...values, dnsPolicy: 'Default' }), 'Default');
    assert.equal(await policyOf(ports), undefined);
  });

  test('frees its ports before the next controller starts', async () => {
    const strategyOf = async (given: object) => pick(await render(given), 'Deployment').spec.strategy;
    const oneByOne = { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } };
    assert.deepEqual(await strategyOf(values), oneByOne);
    assert.deepEqual(await strategyOf({ ...values, leaderElection: { enabled: false } }), { type: 'Recreate' });
  });

  test("doesn't put the receiver on the host network", async () => {
    const objects = await render({ ...values, webhookReceiver: { enabled: true } });
    assert.equal(pick(objects, 'Deployment', '-receiver').spec.template.spec.hostNetwork, undefined);
  });
});
