import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freePort } from '../../scripts/testbed/free-port.ts';
import { apply, connectCluster, createNamespace, kubectl } from '../support/cluster.ts';
import { injectedPod, report } from '../support/gateway-pods.ts';
import { applyGatewaySync, condition, untilGatewaySync, untilStatus } from '../support/gateway-syncs.ts';
import { serveRepository } from '../support/git-server-for.ts';
import { startControllerProcess } from '../support/start-controller.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { until } from '../support/until.ts';
import { installRights } from './support/install-rights.ts';
import { environmentOf, pick, render } from './support/render.ts';

/** Rolls out two releases, of which only the newest is kept, and deletes their resource. */
async function writesReleases(namespace: string, repo: string): Promise<void> {
  const address = { namespace, name: 'waves' };
  const profiles = (destination: string) => ({ default: { mappings: [{ source: 'config', destination }] } });
  const template = '{range .items[*]}{.metadata.name} {.metadata.labels.sync\\.io/release} {.status.phase} {end}';
  const untilReleases = (expected: string) =>
    until(() => kubectl('get', 'syncreleases', '--namespace', namespace, `--output=jsonpath=${template}`), {
      describe: `the releases ${expected}`,
      accept: (found) => found.trim() === expected,
    });
  for (const number of [1, 2]) {
    await applyGatewaySync(
      address,
      { repo },
      { history: 0, rollout: {}, sync: { profiles: profiles(`to-${number}`) } },
    );
    await untilReleases(`waves-${number} Complete Complete`);
  }
  await kubectl('delete', 'gatewaysync/waves', '--namespace', namespace);
  await untilReleases('');
}

test('the controller does all its work with the permissions and the environment from the chart', async (t) => {
  const namespace = await createNamespace(t);
  const values = {
    fullnameOverride: namespace,
    certManager: { enabled: false },
    // The cluster is shared with other tests.
    controller: { watchNamespaces: [namespace], git: { allowLocal: true } },
  };
  await installRights(t, { namespace, values });
  const objects = await render(values, { namespace });
  const configuration = pick(objects, 'MutatingWebhookConfiguration');
  // The API server couldn't reach the controller under the name of its Service.
  configuration.webhooks[0].namespaceSelector.matchLabels = { 'test.sync.io/webhook': namespace };
  await apply([configuration, pick(objects, 'Secret', '-certificate')]);
  t.after(() => kubectl('delete', 'mutatingwebhookconfiguration', configuration.metadata.name));
  const { repository, commit } = await serveRepository(t);

  const account = { namespace, serviceAccount: namespace };
  const memory = await temporaryDirectory(t, 'memory-');
  const controller = await startControllerProcess(t, namespace, {
    ...(environmentOf(pick(objects, 'Deployment')) as Record<string, string>),
    POD_NAME: 'controller-0',
    POD_NAMESPACE: namespace,
    KUBECONFIG: await (await connectCluster()).kubeconfigFor(account),
    MEMORY_PATH: memory,
    HEALTH_PORT: String(await freePort()),
    METRICS_PORT: String(await freePort()),
    WEBHOOK_PORT: String(await freePort()),
  });
  const address = { namespace, name: 'app' };
  await applyGatewaySync(address, { repo: repository.url });
  await untilStatus(address, { lastSyncCommit: commit });
  await apply(injectedPod(namespace, 'gateway', 'app'));
  await until(() => kubectl('get', 'rolebinding/sync-agent-app', '--namespace', namespace), {
    describe: 'the RoleBinding of the agent',
  });
  await report({ namespace, name: 'gateway' }, { commit, ref: 'main' });
  await untilGatewaySync(address, 'ready', (resource) => condition(resource, 'Ready')?.status === 'True');

  const read = (output: string, ...what: string[]) =>
    kubectl('get', ...what, '--namespace', namespace, `--output=jsonpath=${output}`);
  await until(() => read('{.items[*].reason}', 'events.events.k8s.io'), { describe: 'an event' });
  await until(() => read('{.webhooks[0].clientConfig.caBundle}', `mutatingwebhookconfiguration/${namespace}-webhook`), {
    describe: 'a CA in the configuration of the webhook',
  });
  await writesReleases(namespace, repository.url);
  assert.match(await read('{.spec.holderIdentity}', `lease/${namespace}-controller`), /^controller-0_/);
  assert.doesNotMatch(controller.output, /forbidden/i);
});
