import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { configSchema } from '../../controller/config.ts';
import { readConfig } from '../../shared/config.ts';
import { environmentOf, pick, render } from './support/render.ts';

const controllerOf = async (values: object = {}) => pick(await render(values), 'Deployment', 'stoker-operator');

suite('the Deployment of the controller', { concurrency: true }, () => {
  for (const [what, values] of Object.entries({
    'the default values': {},
    'a certificate of its own': { certManager: { enabled: false } },
    'no webhook': { webhook: { enabled: false } },
    'development mode and two namespaces': { controller: { logDevMode: 'true', watchNamespaces: ['a', 'b'] } },
  })) {
    test(`the controller accepts its environment from the chart with ${what}`, async () => {
      const environment = environmentOf(await controllerOf(values));
      readConfig(configSchema, { ...environment, POD_NAME: 'controller-1', POD_NAMESPACE: 'operator' });
      for (const name of Object.keys(environment)) assert.ok(name in configSchema.pipe[0].entries, name);
    });
  }

  test('the controller becomes available only after every node has had time to learn its address', async () => {
    assert.equal((await controllerOf()).spec.minReadySeconds, 5);
  });

  test('every container meets the restricted Pod Security Standard, and every image has its credentials', async () => {
    const imagePullSecrets = [{ name: 'registry' }];
    const objects = await render({ imagePullSecrets, webhookReceiver: { enabled: true } });
    const deployments = objects.filter(({ kind }) => kind === 'Deployment');
    assert.equal(deployments.length, 2);
    for (const { spec } of deployments) {
      assert.deepEqual(spec.template.spec.imagePullSecrets, imagePullSecrets);
      const { securityContext, containers } = spec.template.spec;
      assert.deepEqual(securityContext, { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
      assert.deepEqual(containers[0].securityContext, {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
    }
  });

  test('private keys are stored in a volume in memory', async () => {
    const deployment = await controllerOf();
    const { volumes, containers } = deployment.spec.template.spec;
    const directory = environmentOf(deployment).MEMORY_PATH;
    const { name } = containers[0].volumeMounts.find(({ mountPath }: { mountPath: string }) => mountPath === directory);
    const volume = volumes.find((each: { name: string }) => each.name === name);
    assert.deepEqual(volume.emptyDir, { medium: 'Memory', sizeLimit: '8Mi' });
  });

  test('existing service accounts are bound, and the chart creates none', async () => {
    const objects = await render({
      serviceAccount: { create: false, name: 'mine' },
      webhookReceiver: { enabled: true, serviceAccount: { create: false, name: 'other' } },
    });
    assert.equal(objects.filter(({ kind }) => kind === 'ServiceAccount').length, 0);
    const bound = objects.flatMap(({ subjects = [] }) => subjects.map(({ name }: { name: string }) => name));
    assert.deepEqual([...new Set(bound)].sort(), ['mine', 'other']);
  });

  const digest = `sha256:${'0123456789abcdef'.repeat(4)}`;

  /** Values of an image, and the resulting reference. */
  const cases: [image: Record<string, string>, reference: string][] = [
    [{ repository: 'quay.io/team/x' }, 'quay.io/team/x:0.1.0'],
    [{ repository: 'quay.io/team/x', registry: 'r.test' }, 'r.test/team/x:0.1.0'],
    [{ repository: 'quay.io/team/x', registry: 'r.test:5000/mirror/' }, 'r.test:5000/mirror/team/x:0.1.0'],
    [{ repository: 'localhost/x', registry: 'r.test' }, 'r.test/x:0.1.0'],
    // Without a registry: Docker Hub's.
    [{ repository: 'team/x', registry: 'r.test' }, 'r.test/team/x:0.1.0'],
    [{ repository: 'x', registry: 'r.test', tag: '7' }, 'r.test/x:7'],
    [{ repository: 'quay.io/x', digest }, `quay.io/x@${digest}`],
    [{ repository: 'quay.io/x', tag: '7', digest, registry: 'r.test' }, `r.test/x@${digest}`],
  ];

  for (const [image, reference] of cases) {
    test(`the image values ${JSON.stringify(image)} give ${reference} for all three images`, async () => {
      const objects = await render({ image, agentImage: image, webhookReceiver: { enabled: true, image } });
      const controller = pick(objects, 'Deployment', 'stoker-operator');
      const receiver = pick(objects, 'Deployment', '-receiver');
      for (const { spec } of [controller, receiver]) assert.equal(spec.template.spec.containers[0].image, reference);
      assert.equal(environmentOf(controller).DEFAULT_AGENT_IMAGE, reference);
    });
  }

  const ports = { webhook: { port: 19443 }, metrics: { port: 18443 }, controller: { healthPort: 18081 } };
  const onHostNetwork = { hostNetwork: true, ...ports };

  test('a controller on the host network listens on the ports that its pod declares', async () => {
    const deployment = pick(await render(onHostNetwork), 'Deployment');
    const { HEALTH_PORT, METRICS_PORT, WEBHOOK_PORT } = environmentOf(deployment);
    assert.deepEqual([HEALTH_PORT, WEBHOOK_PORT, METRICS_PORT], ['18081', '19443', '18443']);
    const [container] = deployment.spec.template.spec.containers;
    // Kubernetes makes them host ports, so two controllers never share a node.
    assert.deepEqual(container.ports, [
      { name: 'health', containerPort: 18081 },
      { name: 'webhook', containerPort: 19443 },
      { name: 'metrics', containerPort: 18443 },
    ]);
  });

  test('a controller on the host network resolves Services, unless the values say otherwise', async () => {
    const policyOf = async (given: object) => (await controllerOf(given)).spec.template.spec.dnsPolicy;
    assert.equal(await policyOf(onHostNetwork), 'ClusterFirstWithHostNet');
    assert.equal(await policyOf({ ...onHostNetwork, dnsPolicy: 'Default' }), 'Default');
    assert.equal(await policyOf(ports), undefined);
  });

  /** Strategies of its Deployment, by the values. Without a Lease, or with host ports, two pods never run at once. */
  const strategies: [values: object, strategy: object][] = [
    [{}, { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '25%', maxSurge: '25%' } }],
    [{ leaderElection: { enabled: false } }, { type: 'Recreate' }],
    [onHostNetwork, { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } }],
    [{ ...onHostNetwork, leaderElection: { enabled: false } }, { type: 'Recreate' }],
  ];
  for (const [values, strategy] of strategies)
    test(`the controller is replaced with ${JSON.stringify(strategy)}, given ${JSON.stringify(values)}`, async () => {
      assert.deepEqual((await controllerOf(values)).spec.strategy, strategy);
    });

  test("a controller on the host network doesn't put the receiver on the host network", async () => {
    const objects = await render({ ...onHostNetwork, webhookReceiver: { enabled: true } });
    assert.equal(pick(objects, 'Deployment', '-receiver').spec.template.spec.hostNetwork, undefined);
  });
});
