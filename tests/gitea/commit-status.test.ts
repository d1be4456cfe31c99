import assert from 'node:assert/strict';
import { after, before, suite, type TestContext, test } from 'node:test';
import { apply, createNamespace } from '../support/cluster.ts';
import { injectedPod, report } from '../support/gateway-pods.ts';
import { applyGatewaySync, condition, untilGatewaySync } from '../support/gateway-syncs.ts';
import { startController } from '../support/start-controller.ts';
import { until } from '../support/until.ts';
import { addWebhook, createGiteaRepository } from './gitea-repository.ts';
import { type Gitea, startGitea } from './start-gitea.ts';

/** A private repository with a webhook that leads to a receiver, and a resource that follows it. */
async function arrange(t: TestContext, gitea: Gitea, { name, scopes }: { name: string; scopes: string[] }) {
  const namespace = await createNamespace(t);
  const address = { namespace, name };
  const write = await gitea.token(`${name}-status`, scopes);
  const { git, push } = await createGiteaRepository(t, gitea, { ...address, secrets: { write } });
  await addWebhook(t, gitea, { ...address, events: ['push'] });
  const commit = await push('1');
  const secretRef = { name: 'gitea', key: 'write' };
  await applyGatewaySync(address, {
    ...git,
    commitStatus: { provider: 'gitea', context: 'plant/{{ .Cluster }}', secretRef },
  });
  await apply(injectedPod(namespace, 'gateway-0', name));
  const controller = await startController(t, namespace, { CLUSTER_NAME: 'oslo' });
  return { address, commit, push, controller, write };
}

interface CombinedStatus {
  state: string;
  statuses: { status: string; context: string; description: string }[];
}

/** Waits until Gitea shows the state on the commit, and returns the commit's statuses. */
async function untilShown(gitea: Gitea, place: string, state: string): Promise<CombinedStatus['statuses']> {
  const read = () => gitea.api<CombinedStatus>('GET', `/repos/plant/${place}/status`);
  const shown = await until(read, { describe: `${state} at ${place}`, accept: (seen) => seen.state === state });
  return shown.statuses;
}

suite('the commit status on a real Gitea server', () => {
  let gitea: Gitea;
  before(async () => {
    gitea = await startGitea();
  });
  after(() => gitea?.stop());

  test('turns green on a pushed commit when the gateway has it', async (t) => {
    const world = await arrange(t, gitea, { name: 'config', scopes: ['write:repository'] });
    const { address, commit, push, controller, write } = world;
    const say = (status: object) => report({ namespace: address.namespace, name: 'gateway-0' }, status);
    await untilShown(gitea, `config/commits/${commit}`, 'pending');
    await say({ commit, ref: 'main' });
    const [first] = await untilShown(gitea, `config/commits/${commit}`, 'success');
    assert.deepEqual([first?.context, first?.description], ['plant/oslo', '1/1 gateways']);

    // Nothing is polled: only the webhook brings the next one.
    const next = await push('2');
    await untilShown(gitea, `config/commits/${next}`, 'pending');
    await say({ commit, ref: 'main', state: 'Error', message: 'the data volume is full' });
    const [failed] = await untilShown(gitea, `config/commits/${next}`, 'failure');
    assert.equal(failed?.description, '0/1 gateways; gateway-0: the data volume is full');
    await say({ commit: next, ref: 'main' });
    await untilShown(gitea, `config/commits/${next}`, 'success');
    const all = await gitea.api<{ status: string }[]>('GET', `/repos/plant/config/commits/${next}/statuses`);
    assert.deepEqual(all.map(({ status }) => status).sort(), ['failure', 'pending', 'success']);
    assert.ok(!controller.output.includes(write));
  });

  test("isn't posted with a read-only token, and the resource shows the reason", async (t) => {
    const { address, commit } = await arrange(t, gitea, { name: 'reading', scopes: ['read:repository'] });
    const resource = await untilGatewaySync(
      address,
      'refused',
      (seen) => condition(seen, 'CommitStatus')?.status === 'False',
    );
    assert.equal(condition(resource, 'CommitStatus')?.reason, 'CommitStatusRefused');
    assert.equal(resource.status?.lastSyncCommit, commit);
    const all = await gitea.api<object[]>('GET', `/repos/plant/reading/commits/${commit}/statuses`);
    assert.deepEqual(all, []);
  });
});
