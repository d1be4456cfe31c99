import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, suite, type TestContext, test } from 'node:test';
import { runCommand } from '../../scripts/testbed/run-command.ts';
import { startReceiver } from '../integration/receiver/start-receiver.ts';
import { apply, connectCluster, createNamespace } from '../support/cluster.ts';
import { injectedPod, report } from '../support/gateway-pods.ts';
import { applyGatewaySync, condition, untilGatewaySync } from '../support/gateway-syncs.ts';
import { startController } from '../support/start-controller.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { until } from '../support/until.ts';
import { type Gitea, startGitea } from './start-gitea.ts';

const SECRET = 'secret-of-the-webhook';

/** A private repository with a webhook that leads to a receiver, and a resource that follows it. */
async function arrange(t: TestContext, gitea: Gitea, { name, scopes }: { name: string; scopes: string[] }) {
  const namespace = await createNamespace(t);
  const address = { namespace, name };
  const { kubeconfig } = await connectCluster();
  const receiver = await startReceiver(t, kubeconfig, { WEBHOOK_HMAC_SECRET: SECRET });
  await gitea.api('POST', '/user/repos', { name, private: true });
  await gitea.api('POST', `/repos/plant/${name}/hooks`, {
    type: 'gitea',
    active: true,
    events: ['push'],
    config: {
      content_type: 'json',
      secret: SECRET,
      url: `http://127.0.0.1:${receiver.port}/webhook/${namespace}/${name}`,
    },
  });
  const directory = await temporaryDirectory(t, 'work-tree-');
  const git = async (...args: string[]) => {
    const identity = ['-c', 'user.name=plant', '-c', 'user.email=plant@example.test'];
    const settings = [...identity, '-c', `http.sslCAInfo=${gitea.caFile}`, '-c', 'credential.helper='];
    const env = { PATH: process.env.PATH, HOME: directory, GIT_TERMINAL_PROMPT: '0' };
    return (await runCommand('git', [...settings, ...args], { cwd: directory, env })).trim();
  };
  const { name: user, password } = gitea.user;
  const repo = `${gitea.url}/plant/${name}.git`;
  await git('init', '--quiet', '--initial-branch=main');
  await git('remote', 'add', 'origin', repo.replace('https://', `https://${user}:${password}@`));
  const pushFile = async (content: string) => {
    await mkdir(path.join(directory, 'config'), { recursive: true });
    await writeFile(path.join(directory, 'config/a'), content);
    await git('add', '.');
    await git('commit', '--quiet', '--message', `Write ${content}`);
    await git('push', '--quiet', 'origin', 'main');
    return await git('rev-parse', 'HEAD');
  };
  const stringData = {
    read: await gitea.token(`${name}-read`, ['read:repository']),
    write: await gitea.token(`${name}-status`, scopes),
    ca: gitea.ca,
  };
  await apply({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'gitea', namespace }, stringData });
  const key = (entry: string) => ({ name: 'gitea', key: entry });
  const commit = await pushFile('1');
  await applyGatewaySync(address, {
    repo,
    auth: { token: { secretRef: key('read') } },
    caSecretRef: key('ca'),
    commitStatus: { provider: 'gitea', context: 'plant/{{ .Cluster }}', secretRef: key('write') },
  });
  await apply(injectedPod(namespace, 'gateway-0', name));
  const controller = await startController(t, namespace, { CLUSTER_NAME: 'oslo' });
  return { address, commit, pushFile, controller, tokens: [stringData.read, stringData.write] };
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
    const { address, commit, pushFile, controller, tokens } = world;
    const say = (status: object) => report({ namespace: address.namespace, name: 'gateway-0' }, status);
    await untilShown(gitea, `config/commits/${commit}`, 'pending');
    await say({ commit, ref: 'main' });
    const [first] = await untilShown(gitea, `config/commits/${commit}`, 'success');
    assert.deepEqual([first?.context, first?.description], ['plant/oslo', '1/1 gateways']);

    // Nothing is polled: only the webhook brings the next one.
    const next = await pushFile('2');
    await untilShown(gitea, `config/commits/${next}`, 'pending');
    await say({ commit, ref: 'main', state: 'Error', message: 'the data volume is full' });
    const [failed] = await untilShown(gitea, `config/commits/${next}`, 'failure');
    assert.equal(failed?.description, '0/1 gateways; gateway-0: the data volume is full');
    await say({ commit: next, ref: 'main' });
    await untilShown(gitea, `config/commits/${next}`, 'success');
    const all = await gitea.api<{ status: string }[]>('GET', `/repos/plant/config/commits/${next}/statuses`);
    assert.deepEqual(all.map(({ status }) => status).sort(), ['failure', 'pending', 'success']);
    for (const token of tokens) assert.ok(!controller.output.includes(token));
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
