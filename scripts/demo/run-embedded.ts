import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { gatewaySyncPath, syncReportPath } from '../../shared/io/kubernetes/resource-path.ts';
import { agentClusterRole } from '../testbed/agent-role.ts';
import { clientOf } from '../testbed/client-of.ts';
import { startApiServer } from '../testbed/control-plane.ts';
import { findBinaries, lookForBinary } from '../testbed/find-binaries.ts';
import type { GitRepository } from '../testbed/git-repository.ts';
import { startGitServer } from '../testbed/git-server.ts';
import { installCrds } from '../testbed/install-crds.ts';
import { step } from '../testbed/step.ts';
import { applyObject } from './apply-object.ts';
import { buildBundles } from './build-bundles.ts';
import { bold, dim, headline, say, show, timeline } from './console.ts';
import { GatewaySyncFollower } from './follow-gateway-sync.ts';
import {
  BRANCH,
  gatewaySyncObject,
  NAMESPACE,
  namespaceObject,
  POD,
  RESOURCE,
  sampleFiles,
  serviceAccountObject,
} from './objects.ts';
import { readTable } from './read-table.ts';
import { type Cluster, type Gateway, startGateway, startOperator } from './start-system.ts';
import { postPush, watchDelivery } from './watch-delivery.ts';

const POLL_SECONDS = 5;

interface Stage {
  cluster: Cluster;
  repository: GitRepository;
  follower: GatewaySyncFollower;
  webhookUrl: string;
  secret: string;
  /** The gateway's data volume on this machine. */
  data: string;
  stop: () => Promise<void>;
}

/** The whole path on an embedded control plane. */
export async function runEmbedded({ once }: { once: boolean }): Promise<void> {
  headline('Preparing');
  const stage = await prepare();
  try {
    await showWebhook(stage);
    await showPolling(stage);
    await showState(stage);
    if (!once) await stayUp(stage);
  } finally {
    await stage.stop();
  }
}

async function prepare(): Promise<Stage> {
  await buildBundles();
  await step('Finding etcd and kube-apiserver', () => findBinaries('etcd', 'kube-apiserver'));
  const server = await step('Starting an API server with the CRDs', async () => {
    const apiServer = await startApiServer();
    await installCrds(apiServer);
    return apiServer;
  });
  const cluster = { ...server, client: clientOf(server.kubeconfig, { userAgent: 'stoker-operator-demo' }) };
  const gitServer = await startGitServer();
  const repository = await gitServer.createRepository('gateways');
  await repository.commit({ files: sampleFiles, message: 'First configuration' });
  await applyObject(cluster.client, namespaceObject);
  for (const object of [serviceAccountObject, agentClusterRole]) await applyObject(cluster.client, object);

  const secret = randomBytes(20).toString('hex');
  const { webhookUrl, stop } = await step('Starting the operator', () => startOperator(cluster, secret));
  headline('The operator');
  say(`receiver    takes signed webhooks at ${webhookUrl}`);
  say('controller  watches, resolves, injects');

  const follower = new GatewaySyncFollower();
  const following = new AbortController();
  void follower.run(cluster.client, { namespace: NAMESPACE, name: RESOURCE }, following.signal);
  await applyObject(cluster.client, gatewaySyncObject(repository.url, `${POLL_SECONDS}s`));
  const { data, agent } = await showGateway(cluster);
  await follower.until('the first sync', ({ status }) => status?.gateways?.synced === 1);
  say(`first sync  done: ${Object.keys(sampleFiles).length - 1} files in ${data}/config`);
  return {
    ...{ cluster, repository, follower, webhookUrl, secret, data },
    stop: async () => {
      following.abort();
      await Promise.all([agent.stop(), stop(), gitServer.stop()]);
      await server.stop();
    },
  };
}

/** Creates the pod, and says what came back. */
async function showGateway(cluster: Cluster): Promise<Gateway> {
  headline('The gateway');
  const gateway = await startGateway(cluster);
  const names = (gateway.pod.spec.initContainers ?? []).map(({ name, image }) => `${name} (${image})`);
  say(`pod ${POD} was created through the API server and came back with the sidecar ${names.join(', ')}`);
  say(
    dim(
      'there is no node here, so the demo plays the kubelet: it runs the agent with the environment of that container',
    ),
  );
  return gateway;
}

async function showWebhook({ repository, follower, webhookUrl, secret, data }: Stage): Promise<void> {
  headline('A push, and a signed webhook');
  const content = `hello by webhook at ${new Date().toISOString()}\n`;
  const commit = await repository.commit({ files: { 'shared/greeting.txt': content }, message: 'Change the greeting' });
  say(`pushed ${commit.slice(0, 8)} to ${BRANCH}, sending the webhook now`);
  const startedAt = performance.now();
  const delivery = watchDelivery(
    follower,
    { commit, file: { path: path.join(data, 'config/greeting.txt'), content } },
    startedAt,
  );
  const [answer, moments] = await Promise.all([postPush(webhookUrl, secret, BRANCH), delivery]);
  if (answer.status !== 202) throw new Error(`the receiver answered ${answer.status}: ${answer.body}`);
  timeline([{ what: 'the receiver answered 202: the request is stored', atMs: answer.at - startedAt }, ...moments]);
}

async function showPolling({ repository, follower, data }: Stage): Promise<void> {
  headline(`The same without a webhook: polled every ${POLL_SECONDS} s`);
  const content = `hello by polling at ${new Date().toISOString()}\n`;
  const startedAt = performance.now();
  const commit = await repository.commit({
    files: { 'shared/greeting.txt': content },
    message: 'Change the greeting again',
  });
  say(`pushed ${commit.slice(0, 8)} to ${BRANCH}, and told nobody`);
  timeline(
    await watchDelivery(
      follower,
      { commit, file: { path: path.join(data, 'config/greeting.txt'), content } },
      startedAt,
    ),
  );
}

async function showState({ cluster }: Stage): Promise<void> {
  headline('What the cluster says, as kubectl would print it');
  show('kubectl get gatewaysyncs', await readTable(cluster.client, gatewaySyncPath(NAMESPACE)));
  show('kubectl get syncreports', await readTable(cluster.client, syncReportPath(NAMESPACE)));
}

async function stayUp({ cluster, webhookUrl, secret, repository, data }: Stage): Promise<void> {
  const body = JSON.stringify({ ref: `refs/heads/${BRANCH}` });
  headline('It stays up: try it');
  say(`the gateway's files   ${data}/config`);
  say(`the repository        git clone ${repository.url}   ${dim('(and push to it)')}`);
  say(`logs                  ${cluster.dir}/*.log`);
  say('a signed webhook');
  console.log(`
    BODY='${body}'
    curl -i ${webhookUrl} -H 'Content-Type: application/json' -H 'X-GitHub-Event: push' \\
      -H "X-Hub-Signature-256: sha256=$(printf %s "$BODY" | openssl dgst -sha256 -hmac ${secret} | sed 's/.* //')" -d "$BODY"
`);
  await sayKubectl(cluster.kubeconfig);
  say(bold('Ctrl-C ends everything.'));
  await new Promise(() => setInterval(() => {}, 1 << 30));
}

/** What to try with kubectl, where there is one: the demo itself needs none. */
async function sayKubectl(kubeconfig: string): Promise<void> {
  const kubectl = await lookForBinary('kubectl');
  if (!kubectl) return say(`for kubectl           KUBECONFIG=${kubeconfig}   ${dim('(there is none here)')}`);
  say('with kubectl');
  console.log(`
    export KUBECONFIG=${kubeconfig}
    ${kubectl} -n ${NAMESPACE} get gs,sr,events
    ${kubectl} -n ${NAMESPACE} annotate gs ${RESOURCE} --overwrite sync.io/requested-ref=${BRANCH}
`);
}
