import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { ApiCredentials } from '../../shared/io/kubernetes/credentials.ts';
import { agentClusterRole } from '../testbed/agent-role.ts';
import { type ControlPlane, startControlPlane } from '../testbed/control-plane.ts';
import { freePort } from '../testbed/free-port.ts';
import type { GitRepository } from '../testbed/git-repository.ts';
import { startGitServer } from '../testbed/git-server.ts';
import { installCrds } from '../testbed/install-crds.ts';
import { type InjectedPod, sidecarEnvironment } from '../testbed/play-kubelet.ts';
import { step } from '../testbed/step.ts';
import { webhookConfiguration } from '../testbed/webhook-configuration.ts';
import { buildBundles } from './build-bundles.ts';
import { bold, dim, headline, say, show, timeline } from './console.ts';
import { GatewaySyncFollower } from './follow-gateway-sync.ts';
import {
  BRANCH,
  gatewaySyncObject,
  NAMESPACE,
  namespaceObject,
  POD,
  podObject,
  RESOURCE,
  sampleFiles,
} from './objects.ts';
import { startProgram } from './programs.ts';
import { postPush, watchDelivery } from './watch-delivery.ts';

const POLL_SECONDS = 5;
const AGENT_IMAGE = 'stoker-operator/agent:demo';

interface Stage {
  cluster: ControlPlane;
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
  const cluster = await step('Starting a Kubernetes control plane (etcd, API server, controllers)', () =>
    startControlPlane(),
  );
  const server = await startGitServer();
  const repository = await server.createRepository('gateways');
  await repository.commit({ files: sampleFiles, message: 'First configuration' });
  await installCrds(cluster);
  for (const object of [namespaceObject, agentClusterRole]) await applyObject(cluster, object);

  headline('The operator');
  const secret = randomBytes(20).toString('hex');
  const { webhookUrl, stop } = await startOperator(cluster, secret);
  say(`receiver    takes signed webhooks at ${webhookUrl}`);
  say('controller  watches, resolves, injects');

  const follower = new GatewaySyncFollower();
  const following = new AbortController();
  void follower.run(clientOf(cluster), { namespace: NAMESPACE, name: RESOURCE }, following.signal);
  await applyObject(cluster, gatewaySyncObject(repository.url, `${POLL_SECONDS}s`));
  const { data, agent } = await startGateway(cluster);
  await follower.until('the first sync', ({ status }) => status?.gateways?.synced === 1);
  say(`first sync  done: ${Object.keys(sampleFiles).length - 1} files in ${data}/config`);
  return {
    ...{ cluster, repository, follower, webhookUrl, secret, data },
    stop: async () => {
      following.abort();
      await Promise.all([agent.stop(), stop(), server.stop()]);
      await cluster.stop();
    },
  };
}

async function startOperator(cluster: ControlPlane, secret: string) {
  const [webhookPort, admissionPort, metricsPort] = await Promise.all([freePort(), freePort(), freePort()]);
  await applyObject(cluster, webhookConfiguration({ name: NAMESPACE, namespace: NAMESPACE, port: admissionPort }));
  const common = { KUBECONFIG: cluster.kubeconfig };
  const [receiver, controller] = await Promise.all([
    startProgram(
      'receiver',
      {
        ...common,
        RECEIVER_HOST: '127.0.0.1',
        RECEIVER_PORT: String(webhookPort),
        METRICS_PORT: String(metricsPort),
        WEBHOOK_HMAC_SECRET: secret,
      },
      cluster.dir,
    ),
    startProgram(
      'controller',
      {
        ...common,
        POD_NAMESPACE: NAMESPACE,
        WEBHOOK_PORT: String(admissionPort),
        WEBHOOK_SELF_SIGNED: NAMESPACE,
        DEFAULT_AGENT_IMAGE: AGENT_IMAGE,
        METRICS_PORT: '0',
        GIT_ALLOW_LOCAL: 'true',
      },
      cluster.dir,
    ),
  ]);
  return {
    webhookUrl: `http://127.0.0.1:${webhookPort}/webhook/${NAMESPACE}/${RESOURCE}`,
    stop: async () => {
      await Promise.all([receiver.stop(), controller.stop()]);
    },
  };
}

/** Creates the pod, and runs the sidecar that came back with it. */
async function startGateway(cluster: ControlPlane) {
  headline('The gateway');
  const created = await cluster.kubectlWith(podObject, 'create', '--filename', '-', '--output', 'json');
  const pod = JSON.parse(created) as InjectedPod;
  const names = (pod.spec.initContainers ?? []).map(({ name, image }) => `${name} (${image})`);
  say(`pod ${POD} was created through the API server and came back with the sidecar ${names.join(', ')}`);
  say(
    dim(
      'there is no node here, so the demo plays the kubelet: it runs the agent with the environment of that container',
    ),
  );
  const root = path.join(cluster.dir, 'pod');
  const environment = await sidecarEnvironment(cluster, pod, root);
  const agent = await startProgram('agent', { ...environment, METRICS_PORT: String(await freePort()) }, cluster.dir);
  return { agent, data: path.join(root, 'data') };
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
  headline('What the cluster says');
  for (const kind of ['gs', 'sr']) {
    show(`kubectl get ${kind}`, await cluster.kubectl('get', kind, '--namespace', NAMESPACE));
  }
}

async function stayUp({ cluster, webhookUrl, secret, repository, data }: Stage): Promise<void> {
  const kubectl = `KUBECONFIG=${cluster.kubeconfig} ${cluster.binaries.kubectl} -n ${NAMESPACE}`;
  const body = JSON.stringify({ ref: `refs/heads/${BRANCH}` });
  headline('It stays up: try it');
  say(`the gateway's files   ${data}/config`);
  say(`the repository        git clone ${repository.url}   ${dim('(and push to it)')}`);
  say(`what happens          ${kubectl} get gs,sr,events`);
  say(`a request by hand     ${kubectl} annotate gs ${RESOURCE} --overwrite sync.io/requested-ref=${BRANCH}`);
  say(`logs                  ${cluster.dir}/*.log`);
  say('a signed webhook      ');
  console.log(`
    BODY='${body}'
    curl -i ${webhookUrl} -H 'Content-Type: application/json' -H 'X-GitHub-Event: push' \\
      -H "X-Hub-Signature-256: sha256=$(printf %s "$BODY" | openssl dgst -sha256 -hmac ${secret} | sed 's/.* //')" -d "$BODY"
`);
  say(bold('Ctrl-C ends everything.'));
  await new Promise(() => setInterval(() => {}, 1 << 30));
}

async function applyObject(cluster: ControlPlane, object: object): Promise<void> {
  await cluster.kubectlWith(object, 'apply', '--server-side', '--filename', '-');
}

function clientOf({ kubeconfig }: ControlPlane): KubernetesClient {
  const config = new KubeConfig();
  config.loadFromFile(kubeconfig);
  return new KubernetesClient(new ApiCredentials(config), { userAgent: 'stoker-operator-demo' });
}
