import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before } from 'node:test';
import { until } from '../support/until.ts';
import { apply, getJson, kubectl } from './support/cluster.ts';
import { deliverPush } from './support/deliver.ts';
import { gatewayDeployment, gatewayPod, gatewaySync } from './support/gateway.ts';
import { type GitServer, startGitServer } from './support/git-server.ts';
import { untilInjectionWorks } from './support/injection.ts';
import { newRelease } from './support/release.ts';
import { createSteps } from './support/steps.ts';

const release = newRelease();
const { namespace } = release;
const site = `${release.name}-site`;
const webhook = `http://${release.fullName}-receiver.${namespace}.svc:9444/webhook/${site}/site`;
const secret = randomBytes(20).toString('hex');
const webhookReceiver = { enabled: true, hmac: { secret } };

let git: GitServer;
const step = createSteps(namespace, site);

before(async () => {
  for (const name of [namespace, site]) await kubectl('create', 'namespace', name);
});

after(async () => {
  await kubectl('delete', 'clusterrolebinding', `${release.name}-scraper`, '--ignore-not-found');
  await release.uninstall();
  await kubectl('delete', 'namespace', namespace, site, '--timeout=120s');
});

step('the chart installs and becomes ready', async () => {
  await release.install({ webhookReceiver });
});

step('a Deployment that requests the agent gets it, and the files of the tracked branch', async (t) => {
  git = await startGitServer(site);
  await git.commit('config/motd', 'first');
  await apply(gatewaySync(site, git.url));
  await untilInjectionWorks(site, gatewayPod());
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

step('a signed webhook delivers a push to the volume without a poll', async (t) => {
  await git.commit('config/motd', 'second');
  const started = performance.now();
  const answer = await deliverPush(git, webhook, { hmac: secret });
  assert.equal(answer.status, 202, answer.body);
  await until(() => readFromVolume('config/motd'), {
    describe: 'the pushed file',
    accept: (content) => content === 'second',
  });
  t.diagnostic(`from webhook to file, kubectl exec included: ${since(started)}`);
});

step('a webhook with a wrong signature is rejected', async () => {
  const answer = await deliverPush(git, webhook, { hmac: 'another secret' });
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

step('only accounts with permission can read metrics', async () => {
  const name = `${release.fullName}-metrics`;
  const role = `--clusterrole=${name}-reader`;
  await kubectl('create', 'serviceaccount', 'scraper', '--namespace', site);
  await kubectl('create', 'clusterrolebinding', `${release.name}-scraper`, role, `--serviceaccount=${site}:scraper`);
  const url = `https://${name}.${namespace}.svc:8443/metrics`;
  const token = await kubectl('create', 'token', 'scraper', '--namespace', site);
  const other = await kubectl('create', 'token', 'default', '--namespace', site);
  assert.deepEqual([await statusOf(url), await statusOf(url, other), await statusOf(url, token)], [401, 403, 200]);
});

step("an upgrade to two replicas doesn't change the webhook or its CA", async () => {
  const caBundle = () =>
    kubectl(
      'get',
      `mutatingwebhookconfiguration/${release.fullName}-webhook`,
      '--output=jsonpath={.webhooks[0].clientConfig.caBundle}',
    );
  const before = await caBundle();
  await release.install({ webhookReceiver, replicaCount: 2 });
  assert.equal(await caBundle(), before);
  await untilInjectionWorks(site, gatewayPod());
});

step('helm uninstall keeps only the CRDs, their resources, and the Lease', async () => {
  await release.uninstall();
  await until(() => leftBehind({ release: release.name, namespace }), {
    describe: 'nothing to be left',
    timeout: 60_000,
    interval: 1_000,
    accept: (left) => left.length === 0,
  });
  await kubectl('get', 'crd/gatewaysyncs.sync.io', 'crd/syncreleases.sync.io', 'crd/syncreports.sync.io');
  await kubectl('get', 'gatewaysync/site', '--namespace', site);
});

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

/** Returns the response status of an HTTPS server in the cluster; its certificate is self-signed. */
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

/** Made by Kubernetes itself in every namespace, or on its own account. */
const standard = /^(configmap\/kube-root-ca\.crt|serviceaccount\/default|event(\.events\.k8s\.io)?\/.*)$/;
/** Stays on purpose: the CRDs, and the Lease, which the controller makes and goes with the namespace. */
const kept =
  /^(customresourcedefinition\.apiextensions\.k8s\.io\/(gatewaysyncs|syncreleases|syncreports)\.sync\.io|lease\.coordination\.k8s\.io\/.+-controller)$/;

/** Lists the remaining objects of a release: those with its label anywhere, and those in its namespace. */
async function leftBehind({ release, namespace }: { release: string; namespace: string }): Promise<string[]> {
  const label = `--selector=app.kubernetes.io/instance=${release}`;
  const left = [
    ...(await list(true, '--all-namespaces', label)),
    ...(await list(false, label)),
    ...(await list(true, '--namespace', namespace)),
  ];
  return [...new Set(left)].filter((name) => !standard.test(name) && !kept.test(name));
}

async function list(namespaced: boolean, ...args: string[]): Promise<string[]> {
  const kinds = await kubectl('api-resources', '--verbs=list,delete', `--namespaced=${namespaced}`, '--output=name');
  const names = await kubectl(
    'get',
    kinds.trim().split('\n').join(','),
    '--output=name',
    '--ignore-not-found',
    ...args,
  );
  return names.split('\n').filter(Boolean);
}
