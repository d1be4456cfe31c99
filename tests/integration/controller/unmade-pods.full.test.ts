import { suite, type TestContext, test } from 'node:test';
import { apply, createNamespace, kubectl } from '../../support/cluster.ts';
import { gatewayPod } from '../../support/gateway-pods.ts';
import { applyGatewaySync, condition, untilGatewaySync } from '../../support/gateway-syncs.ts';
import { serveRepository } from '../../support/git-server-for.ts';
import { startController } from '../../support/start-controller.ts';

const selector = { matchLabels: { app: 'gateway' } };

/** A pod template that Pod Security denies, as another replica of the controller would. */
function template(spec: object = {}) {
  const { metadata, spec: podSpec } = gatewayPod('', '');
  const annotations = { ...metadata.annotations, 'sync.io/cr-name': 'app' };
  return { metadata: { annotations, labels: selector.matchLabels }, spec: { ...podSpec, ...spec } };
}

interface Case {
  kind: string;
  apiVersion: string;
  spec: object;
  /** A change after which the workload wants no pod. */
  rest: object;
}

const cases: Case[] = [
  {
    kind: 'Deployment',
    apiVersion: 'apps/v1',
    spec: { selector, replicas: 2, template: template() },
    rest: { replicas: 0 },
  },
  {
    kind: 'DaemonSet',
    apiVersion: 'apps/v1',
    spec: { selector, template: template({ nodeSelector: { 'test/unmade': 'true' } }) },
    rest: { template: { spec: { nodeSelector: { 'test/unmade': 'false' } } } },
  },
  {
    kind: 'Job',
    apiVersion: 'batch/v1',
    spec: { template: template({ restartPolicy: 'Never' }) },
    rest: { suspend: true },
  },
];

/** A namespace in which no gateway can be created, and the repository of its resource. */
async function arrange(t: TestContext) {
  const { repository } = await serveRepository(t);
  const namespace = await createNamespace(t, { 'pod-security.kubernetes.io/enforce': 'restricted' });
  await startController(t, namespace, {}, { sweepMs: 300 });
  const untilReady = (wanted: 'True' | 'Unknown') =>
    untilGatewaySync({ namespace, name: 'app' }, `Ready is ${wanted} because of NoGateways`, (seen) => {
      const { status, reason } = condition(seen, 'Ready') ?? {};
      return status === wanted && reason === 'NoGateways';
    });
  return { namespace, untilReady, repo: repository.url };
}

suite('a resource without gateways is ready only if no workload wants one', { concurrency: 4 }, () => {
  for (const { kind, apiVersion, spec, rest } of cases)
    test(kind, async (t) => {
      const { namespace, untilReady, repo } = await arrange(t);
      if (kind === 'DaemonSet') {
        await apply({
          apiVersion: 'v1',
          kind: 'Node',
          metadata: { name: namespace, labels: { 'test/unmade': 'true' } },
        });
        t.after(() => kubectl('delete', 'node', namespace));
      }
      await apply({ apiVersion, kind, metadata: { name: 'gateway', namespace }, spec });
      await applyGatewaySync({ namespace, name: 'app' }, { repo });
      await untilReady('Unknown');
      const patch = ['--type', 'merge', '--patch', JSON.stringify({ spec: rest })];
      await kubectl('patch', kind, 'gateway', '--namespace', namespace, ...patch);
      await untilReady('True');
    });
});
