import assert from 'node:assert/strict';
import { createHmac, randomBytes } from 'node:crypto';
import { after, before, type TestContext, test } from 'node:test';
import { until } from '../support/until.ts';
import { apply, chart, getJson, helm, imageOf, kubectl, kubectlWith } from './support/cluster.ts';
import { describeNamespaces } from './support/describe-namespaces.ts';
import { gatewayDeployment, gatewayPod, gatewaySync } from './support/gateway.ts';
import { type GitServer, startGitServer } from './support/git-server.ts';
import { leftBehind } from './support/left-behind.ts';

const id = randomBytes(3).toString('hex');
const release = `e2e-${id}`;
const namespace = `e2e-${id}-system`;
const site = `e2e-${id}-site`;
const receiver = `http://${release}-stoker-operator-receiver.${namespace}.svc:9444`;
const secret = randomBytes(20).toString('hex');

const values = {
  image: imageOf('controller'),
  agentImage: imageOf('agent'),
  certManager: { enabled: false },
  webhookReceiver: { enabled: true, image: imageOf('receiver'), hmac: { secret } },
};
const flagsOf = (given: object) =>
  Object.entries(given).map(([key, value]) => `--set-json=${key}=${JSON.stringify(value)}`);

let git: GitServer;
let failed = false;

before(async () => {
  for (const name of [namespace, site]) await kubectl('create', 'namespace', name);
});

after(async () => {
  await kubectl('delete', 'clusterrolebinding', `${release}-scraper`, '--ignore-not-found');
  await helm('uninstall', release, '--namespace', namespace, '--ignore-not-found', '--wait', '--timeout=60s');
  await kubectl('delete', 'namespace', namespace, site, '--timeout=120s');
});

/** A test that builds on those before it; when it fails, all that can explain it is printed and the rest is skipped. */
function step(name: string, work: (t: TestContext) => Promise<void>): void {
  test(name, { timeout: 300_000 }, async (t) => {
    if (failed) return t.skip('an earlier step failed');
    try {
      await work(t);
    } catch (error) {
      failed = true;
      process.stderr.write(`${await describeNamespaces(namespace, site)}\n`);
      throw error;
    }
  });
}

step('the chart installs and becomes ready', async () => {
  await helm('install', release, chart, '--namespace', namespace, '--wait', '--timeout=180s', ...flagsOf(values));
});

step('a Deployment that asks for the agent gets it, and the files of the tracked branch', async (t) => {
  git = await startGitServer(site);
  await git.commit('config/motd', 'first');
  await apply(gatewaySync(site, git.url));
  await injectionWorks();
  const started = performance.now();
  await apply(gatewayDeployment(site));
  await until(sidecarState, { describe: 'the sidecar to run and be ready', timeout: 120_000, accept: isReady });
  await until(() => readFromVolume('config/motd'), {
    describe: 'the first sync',
    timeout: 60_000,
    accept: (content) => content === 'first',
  });
  t.diagnostic(`from Deployment to synced files: ${since(started)}`);
  await kubectl('wait', '--for=condition=Ready', 'gatewaysync/site', '--namespace', site, '--timeout=60s');
});

step('a signed webhook brings a push into the volume without a poll', async (t) => {
  await git.commit('config/motd', 'second');
  const started = performance.now();
  const answer = await deliver({ ref: 'refs/heads/main', after: '0'.repeat(39).concat('1') });
  assert.equal(answer.status, 202, answer.body);
  await until(() => readFromVolume('config/motd'), {
    describe: 'the pushed file',
    timeout: 30_000,
    accept: (content) => content === 'second',
  });
  t.diagnostic(`from webhook to file, kubectl exec included: ${since(started)}`);
});

step('a webhook with a wrong signature is refused', async () => {
  const answer = await deliver({ ref: 'refs/heads/main' }, 'another secret');
  assert.equal(answer.status, 401, answer.body);
});

step('a push without a webhook arrives by polling', async (t) => {
  const polling = { spec: { polling: { enabled: true, interval: '5s' } } };
  await kubectl('patch', 'gatewaysync/site', '--namespace', site, '--type=merge', '--patch', JSON.stringify(polling));
  await git.commit('config/motd', 'third');
  const started = performance.now();
  await until(() => readFromVolume('config/motd'), {
    describe: 'the file of the polled commit',
    timeout: 60_000,
    accept: (content) => content === 'third',
  });
  t.diagnostic(`from push to file, polling every 5 s: ${since(started)}`);
});

step('a deleted pod comes back with its files, and the status follows', async () => {
  await kubectl('delete', 'pod', '--selector=app=gateway', '--namespace', site, '--wait=true', '--timeout=60s');
  await until(() => readFromVolume('config/motd'), {
    describe: 'the files in the new pod',
    timeout: 120_000,
    accept: (content) => content === 'third',
  });
  await until(() => gatewaysOf('site'), {
    describe: 'one synced gateway in the status',
    timeout: 60_000,
    accept: ({ total, synced }) => total === 1 && synced === 1,
  });
});

step('whoever may read metrics gets them, and nobody else', async () => {
  const name = `${release}-stoker-operator-metrics`;
  const role = `--clusterrole=${name}-reader`;
  await kubectl('create', 'serviceaccount', 'scraper', '--namespace', site);
  await kubectl('create', 'clusterrolebinding', `${release}-scraper`, role, `--serviceaccount=${site}:scraper`);
  const url = `https://${name}.${namespace}.svc:8443/metrics`;
  const token = await kubectl('create', 'token', 'scraper', '--namespace', site);
  const other = await kubectl('create', 'token', 'default', '--namespace', site);
  assert.deepEqual([await statusOf(url), await statusOf(url, other), await statusOf(url, token)], [401, 403, 200]);
});

step('an upgrade to two replicas leaves the webhook and its CA as they are', async () => {
  const caBundle = () =>
    kubectl(
      'get',
      `mutatingwebhookconfiguration/${release}-stoker-operator-webhook`,
      '--output=jsonpath={.webhooks[0].clientConfig.caBundle}',
    );
  const before = await caBundle();
  const flags = flagsOf({ ...values, replicaCount: 2 });
  await helm('upgrade', release, chart, '--namespace', namespace, '--wait', '--timeout=180s', ...flags);
  assert.equal(await caBundle(), before);
  await injectionWorks();
});

step('helm uninstall leaves nothing but the CRDs and their resources', async () => {
  await helm('uninstall', release, '--namespace', namespace, '--wait', '--timeout=120s');
  await until(() => leftBehind({ release, namespace }), {
    describe: 'nothing to be left',
    timeout: 60_000,
    interval: 1_000,
    accept: (left) => left.length === 0,
  });
  await kubectl('get', 'crd/gatewaysyncs.sync.io', 'crd/syncreports.sync.io');
  await kubectl('get', 'gatewaysync/site', '--namespace', site);
});

/** With `Ignore`, a pod starts without a sidecar as long as the API server has not got the webhook's CA. */
async function injectionWorks(): Promise<void> {
  const { metadata, spec } = gatewayPod();
  const probe = { apiVersion: 'v1', kind: 'Pod', metadata: { ...metadata, name: 'probe', namespace: site }, spec };
  await until(() => kubectlWith(probe, 'create', '--dry-run=server', '--output=json', '--filename=-'), {
    describe: 'the admission webhook to add the sidecar',
    accept: (pod) => pod.includes('"sync-agent"'),
    timeout: 60_000,
    interval: 500,
  });
}

interface ContainerStatus {
  name: string;
  ready: boolean;
  started?: boolean;
}

async function sidecarState(): Promise<ContainerStatus | undefined> {
  const { items } = await getJson<{ items: { status: { initContainerStatuses?: ContainerStatus[] } }[] }>(
    'pods',
    '--selector=app=gateway',
    '--namespace',
    site,
  );
  return items[0]?.status.initContainerStatuses?.find(({ name }) => name === 'sync-agent');
}

const isReady = (status: ContainerStatus | undefined) => status?.ready === true && status.started === true;

const readFromVolume = (file: string) =>
  kubectl('exec', 'deployment/gateway', '--container=gateway', '--namespace', site, '--', 'cat', `/data/${file}`);

async function gatewaysOf(name: string): Promise<{ total?: number; synced?: number }> {
  const { status } = await getJson<{ status?: { gateways?: object } }>(`gatewaysync/${name}`, '--namespace', site);
  return status?.gateways ?? {};
}

/** Sends what GitHub sends for a push, from inside the cluster. */
async function deliver(payload: object, key = secret): Promise<{ status: number; body: string }> {
  const body = JSON.stringify(payload);
  const signature = `sha256=${createHmac('sha256', key).update(body).digest('hex')}`;
  const headers = { 'content-type': 'application/json', 'x-github-event': 'push', 'x-hub-signature-256': signature };
  const url = `${receiver}/webhook/${site}/site`;
  const script = `
    const response = await fetch(process.argv[1], { method: 'POST', headers: JSON.parse(process.argv[2]), body: process.argv[3] });
    console.log(JSON.stringify({ status: response.status, body: await response.text() }));`;
  const output = await git.exec('node', '--input-type=module', '--eval', script, url, JSON.stringify(headers), body);
  return JSON.parse(output) as { status: number; body: string };
}

/** Gives the status with which an https server in the cluster answers; its certificate is its own. */
async function statusOf(url: string, token?: string): Promise<number> {
  const headers = JSON.stringify(token ? { authorization: `Bearer ${token.trim()}` } : {});
  const script = `
    const response = await fetch(process.argv[1], { headers: JSON.parse(process.argv[2]) });
    console.log(response.status);`;
  const node = [
    'env',
    'NODE_TLS_REJECT_UNAUTHORIZED=0',
    'node',
    '--no-warnings',
    '--input-type=module',
    '--eval',
    script,
  ];
  return Number(await git.exec(...node, url, headers));
}

const since = (started: number) => `${((performance.now() - started) / 1000).toFixed(2)} s`;
