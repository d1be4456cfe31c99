import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { after, before, type TestContext } from 'node:test';
import { findBinaries } from '../../scripts/testbed/find-binaries.ts';
import { until } from '../support/until.ts';
import { apply, getJson, kubectl } from './support/cluster.ts';
import { deliverPush, type Proof } from './support/deliver.ts';
import { gatewayDeployment, gatewayPod, gatewaySync } from './support/gateway.ts';
import { type GitServer, startGitServer } from './support/git-server.ts';
import { untilInjectionWorks, wouldBeInjected } from './support/injection.ts';
import { loadRuns, sendLoad, stopLoad } from './support/load.ts';
import { newRelease } from './support/release.ts';
import { createSteps } from './support/steps.ts';

/** Tests the chart's switches in sequence, each by its effect in the cluster. */
const release = newRelease();
const { namespace } = release;
const site = `${release.name}-site`;
const other = `${release.name}-other`;
const receiver = `${release.fullName}-receiver`;
const base = `http://${receiver}.${namespace}.svc:9444`;
const step = createSteps(namespace, site, other);

let git: GitServer;

before(async () => {
  for (const name of [namespace, site, other]) await kubectl('create', 'namespace', name);
  await release.install();
  git = await startGitServer(site);
  await git.commit('config/motd', 'first');
  await apply(gatewaySync(site, git.url), gatewaySync(other, git.url));
});

after(async () => {
  await release.uninstall();
  await kubectl('delete', 'namespace', namespace, site, other, '--timeout=120s');
});

const statusFor = async (proof: Proof) => (await deliverPush(git, `${base}/webhook/${site}/site`, proof)).status;

/** A Service can briefly route to the previous pods. */
const untilAnswered = (status: number, proof: Proof, timeout = 120_000) =>
  until(() => statusFor(proof), {
    describe: `the answer ${status}`,
    timeout,
    interval: 500,
    accept: (answer) => answer === status,
  });

interface Pod {
  metadata: { name: string; uid: string };
  status: { containerStatuses?: { restartCount: number; lastState: { terminated?: { reason: string } } }[] };
}

async function podsOf(component: string): Promise<Pod[]> {
  const selector = `app.kubernetes.io/instance=${release.name},app.kubernetes.io/component=${component}`;
  return (await getJson<{ items: Pod[] }>('pods', '--namespace', namespace, '--selector', selector)).items;
}

/** A pod over its memory limit is killed and starts again. */
async function nothingWasKilled(component: string): Promise<void> {
  const ends = (await podsOf(component)).map(({ metadata, status }) => ({
    pod: metadata.name,
    containers: status.containerStatuses?.map(({ restartCount, lastState }) => ({
      restartCount,
      reason: lastState.terminated?.reason,
    })),
  }));
  for (const { pod, containers } of ends) {
    assert.deepEqual(containers, [{ restartCount: 0, reason: undefined }], pod);
  }
}

step('a disabled receiver has no objects', async () => {
  const kinds = 'deployments,services,ingresses,secrets,serviceaccounts';
  const names = await kubectl('get', kinds, '--namespace', namespace, '--output=name');
  assert.doesNotMatch(names, /receiver/);
});

step('an existing Secret takes precedence over the inline value, and is rotated without a restart', async (t) => {
  const publish = (value: string) =>
    apply({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'hooks', namespace },
      stringData: { 'webhook-secret': value },
    });
  await publish('old');
  const hmac = { secret: 'inline', secretRef: { name: 'hooks' } };
  await release.install({ webhookReceiver: { enabled: true, replicaCount: 1, hmac } });
  await untilAnswered(202, { hmac: 'old' });
  assert.deepEqual([await statusFor({ hmac: 'inline' }), await statusFor({})], [401, 401]);
  const before = await podsOf('receiver');

  await publish('new');

  const started = performance.now();
  await untilAnswered(202, { hmac: 'new' }, 240_000);
  t.diagnostic(`the kubelet brought the new secret after ${Math.round((performance.now() - started) / 1000)} s`);
  assert.equal(await statusFor({ hmac: 'old' }), 401);
  const uids = (pods: Pod[]) => pods.map(({ metadata }) => metadata.uid);
  assert.deepEqual(uids(await podsOf('receiver')), uids(before));
  await nothingWasKilled('receiver');
});

step('with both authentication methods, either one is sufficient', async () => {
  const both = { hmac: { secret: 'key' }, token: { secret: 'pass' } };
  await release.install({ webhookReceiver: { enabled: true, ...both } });
  await untilAnswered(202, { token: 'pass' });
  assert.equal(await statusFor({ hmac: 'key' }), 202);
  assert.deepEqual([await statusFor({ token: 'key' }), await statusFor({ hmac: 'pass' })], [401, 401]);
});

step('without an authentication method, the receiver accepts all senders', async () => {
  await release.install({ webhookReceiver: { enabled: true } });
  await untilAnswered(202, {});
});

step('kubectl port-forward reaches the receiver', async (t) => {
  const port = await portForward(t, `service/${receiver}`, 9444, namespace);
  const answer = await fetch(`http://127.0.0.1:${port}/webhook/${site}/site`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ref: 'main' }),
  });
  assert.equal(answer.status, 202, await answer.text());
});

step('a rolling update under load loses no delivery and rejects no sender', async (t) => {
  const token = { secret: 'pass' };
  await release.install({ webhookReceiver: { enabled: true, token } });
  await untilAnswered(202, { token: 'pass' });
  const names = Array.from({ length: 20 }, (_, i) => `load-${i}`);
  const template = gatewaySync(site, git.url);
  await apply(...names.map((name) => ({ ...template, metadata: { name, namespace: site } })));
  const before = (await podsOf('receiver')).map(({ metadata }) => metadata.uid);

  const sending = sendLoad(
    git,
    base,
    names.map((name) => `/webhook/${site}/${name}`),
    'pass',
  );
  await loadRuns(git);
  await kubectl('rollout', 'restart', `deployment/${receiver}`, '--namespace', namespace);
  await kubectl('rollout', 'status', `deployment/${receiver}`, '--namespace', namespace, '--timeout=120s');
  // The previous pods respond until the cluster knows that they terminate.
  await until(async () => (await podsOf('receiver')).every(({ metadata }) => !before.includes(metadata.uid)), {
    describe: 'the pods of before to be gone',
    timeout: 60_000,
    interval: 500,
  });
  await stopLoad(git);
  const { answers, lastAccepted } = await sending;

  t.diagnostic(`answers: ${JSON.stringify(answers)}`);
  assert.deepEqual(Object.keys(answers), ['202'], JSON.stringify(answers));
  assert.equal(Object.keys(lastAccepted).length, names.length);
  for (const name of names) {
    const { metadata } = await getJson<Annotated>(`gatewaysync/${name}`, '--namespace', site);
    const stored = metadata.annotations?.['sync.io/requested-at'] ?? '';
    const accepted = lastAccepted[`/webhook/${site}/${name}`] ?? '';
    assert.ok(stored >= accepted, `${name}: stored is the request of ${stored}, accepted was one of ${accepted}`);
  }
  for (const component of ['receiver', 'controller']) await nothingWasKilled(component);
  await kubectl('delete', 'gatewaysyncs', ...names, '--namespace', site);
});

interface Annotated {
  metadata: { annotations?: Record<string, string> };
}

step('an autoscaler controls the number of replicas', async () => {
  const scaled = {
    autoscaling: { enabled: true, minReplicas: 3, maxReplicas: 4 },
    resources: { requests: { cpu: '100m' } },
  };
  await release.install({ webhookReceiver: { enabled: true, token: { secret: 'pass' }, ...scaled } });
  await until(
    () =>
      getJson<{ status: { readyReplicas?: number } }>(`deployment/${receiver}`, '--namespace', namespace).then(
        ({ status }) => status.readyReplicas,
      ),
    { describe: 'three replicas', timeout: 120_000, interval: 500, accept: (count) => count === 3 },
  );
});

step('the standby controller takes over when the leader is gone, and a push arrives', async (t) => {
  await release.install({ replicaCount: 2, webhookReceiver: { enabled: true, token: { secret: 'pass' } } });
  const leader = async () => {
    const { items } = await getJson<{ items: { spec: { holderIdentity?: string } }[] }>('leases', '-n', namespace);
    const names = (await podsOf('controller')).map(({ metadata }) => metadata.name);
    return names.find((name) => items.some(({ spec }) => spec.holderIdentity?.includes(name)));
  };
  const before = await until(leader, { describe: 'a leader', timeout: 60_000 });
  const commit = await git.commit('config/motd', 'second');

  const started = performance.now();
  await kubectl('delete', 'pod', before ?? '', '--namespace', namespace, '--force', '--grace-period=0');
  await untilAnswered(202, { token: 'pass' });
  await untilSynced(site, commit);

  t.diagnostic(`from the leader's end to the new commit: ${((performance.now() - started) / 1000).toFixed(1)} s`);
  const isOther = (name: string | undefined) => name !== undefined && name !== before;
  await until(leader, { describe: 'another leader', timeout: 60_000, accept: isOther });
});

interface Status {
  status?: { lastSyncCommit?: string; observedGeneration?: number; discoveredGateways?: { syncStatus: string }[] };
}

const statusOf = async (where: string) =>
  (await getJson<Status>('gatewaysync/site', '--namespace', where)).status ?? {};

const untilSynced = (where: string, commit: string) =>
  until(() => statusOf(where), {
    describe: `the commit ${commit}`,
    interval: 250,
    accept: ({ lastSyncCommit }) => lastSyncCommit === commit,
  });

step('with requireLabel, only labelled namespaces get the sidecar', async () => {
  await untilInjectionWorks(site, gatewayPod());
  await release.install({ webhook: { namespaceSelector: { requireLabel: true } } });
  await until(async () => !(await wouldBeInjected(site, gatewayPod())), {
    describe: 'a pod of the namespace without the label to stay as it is',
  });
  await kubectl('label', 'namespace', site, 'sync.io/injection=enabled');
  await untilInjectionWorks(site, gatewayPod());
});

step("gateways are bound to the agent's role only with autoBindAgent", async () => {
  await release.install({ rbac: { autoBindAgent: { enabled: false } } });
  await untilInjectionWorks(other, gatewayPod());
  await apply(gatewayDeployment(other));
  const gateways = (syncStatus: string) =>
    until(() => statusOf(other), {
      describe: `one gateway that is ${syncStatus}`,
      timeout: 120_000,
      interval: 250,
      accept: ({ discoveredGateways }) =>
        discoveredGateways?.length === 1 && discoveredGateways[0]?.syncStatus === syncStatus,
    });
  await gateways('Pending');
  assert.equal(await kubectl('get', 'rolebindings', '--namespace', other, '--output=name'), '');

  await release.install();

  await gateways('Synced');
  const bound = await kubectl('get', 'rolebindings', '--namespace', other, '--output=name');
  assert.match(bound, /\/sync-agent-site$/m);
});

step('with watchNamespaces, other namespaces stay unchanged', async () => {
  await release.install({ controller: { watchNamespaces: [site] }, webhookReceiver: { enabled: true } });
  const commit = await git.commit('config/motd', 'third');
  const before = await statusOf(other);
  for (const where of [other, site]) {
    const spec = { webhook: { allowedRefs: ['release-*'] } };
    await kubectl('patch', 'gatewaysync/site', '-n', where, '--type=merge', '--patch', JSON.stringify({ spec }));
  }
  await untilSynced(site, commit);
  assert.equal((await statusOf(other)).observedGeneration, before.observedGeneration);
  await nothingWasKilled('controller');
});

/** Runs `kubectl port-forward` until the test ends and gives the local port; fails with kubectl's words when it ends early. */
async function portForward(t: TestContext, target: string, port: number, namespace: string): Promise<number> {
  const { kubectl } = await findBinaries('kubectl');
  const child = spawn(kubectl, ['port-forward', target, `:${port}`, '--namespace', namespace], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.after(() => child.kill());
  let output = '';
  return await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', () => reject(new Error(`kubectl port-forward ended:\n${output}`)));
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
        const local = /Forwarding from 127\.0\.0\.1:(\d+)/.exec(output)?.[1];
        if (local) resolve(Number(local));
      });
    }
  });
}
