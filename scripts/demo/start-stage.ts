import { randomBytes } from 'node:crypto';
import path from 'node:path';
import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { corePath } from '../../shared/io/kubernetes/resource-path.ts';
import { agentClusterRole } from '../testbed/agent-role.ts';
import { type ApiObject, applyNamespace, applyObject } from '../testbed/apply-object.ts';
import { clientOf } from '../testbed/client-of.ts';
import type { ServerAccess } from '../testbed/cluster-access.ts';
import { startApiServer } from '../testbed/control-plane.ts';
import { findBinaries, lookForBinary } from '../testbed/find-binaries.ts';
import { freePort } from '../testbed/free-port.ts';
import type { GitRepository } from '../testbed/git-repository.ts';
import { startGitServer } from '../testbed/git-server.ts';
import { installCrds } from '../testbed/install-crds.ts';
import { mirrorGatewaySyncs } from '../testbed/mirror-gateway-syncs.ts';
import { type InjectedPod, sidecarEnvironment } from '../testbed/play-kubelet.ts';
import { type RunningProgram, startProgram } from '../testbed/programs.ts';
import { step } from '../testbed/step.ts';
import { webhookConfiguration } from '../testbed/webhook-configuration.ts';
import { buildBundles } from './build-bundles.ts';
import { bold, dim, headline, say } from './console.ts';
import { NAMESPACE, podObject, RESOURCE } from './objects.ts';

/** The API server for everything, and a client with all permissions. */
export interface Cluster extends ServerAccess {
  client: KubernetesClient;
}

/** An injected pod, and the agent that runs in place of its sidecar. */
export interface Gateway {
  pod: InjectedPod;
  agent: RunningProgram;
  /** The gateway's data volume on this machine. */
  data: string;
}

/** The parts that run before the first gateway: a control plane, a repository, the operator, and the GatewaySync. */
export interface Stage {
  cluster: Cluster;
  repository: GitRepository;
  /** Returns the GatewaySync as it is now. */
  resource: () => GatewaySync | undefined;
  webhookUrl: string;
  secret: string;
  stop: () => Promise<void>;
}

/** Content of a demo: the first commit, and the GatewaySync for the URL of the repository. */
interface Play {
  files: Record<string, string>;
  gatewaySync: (repo: string) => ApiObject;
}

export async function startStage({ files, gatewaySync }: Play): Promise<Stage> {
  headline('Preparing');
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
  await repository.commit({ files, message: 'First configuration' });
  await applyNamespace(cluster, NAMESPACE);
  await applyObject(cluster, agentClusterRole);

  const secret = randomBytes(20).toString('hex');
  const { webhookUrl, stop } = await step('Starting the operator', () => startOperator(cluster, secret));
  headline('The operator');
  say(`receiver    accepts signed webhooks at ${webhookUrl}`);
  say('controller  watches, resolves, injects');

  const ending = new AbortController();
  const mirror = await mirrorGatewaySyncs(cluster.client, ending.signal);
  await applyObject(cluster, gatewaySync(repository.url));
  return {
    cluster,
    repository,
    resource: () => mirror.store.get(`${NAMESPACE}/${RESOURCE}`),
    webhookUrl,
    secret,
    stop: async () => {
      ending.abort();
      await Promise.all([stop(), gitServer.stop()]);
      await server.stop();
    },
  };
}

/** Starts the receiver, which verifies deliveries with `secret`, and the controller with its admission webhook. */
async function startOperator(cluster: ServerAccess, secret: string) {
  const [webhookPort, admissionPort] = await Promise.all([freePort(), freePort()]);
  const { kubeconfig, dir } = cluster;
  await applyObject(cluster, webhookConfiguration({ name: NAMESPACE, namespace: NAMESPACE, port: admissionPort }));
  const receiver = { RECEIVER_PORT: String(webhookPort), WEBHOOK_HMAC_SECRET: secret };
  const controller = {
    POD_NAME: `controller-${process.pid}`,
    POD_NAMESPACE: NAMESPACE,
    WEBHOOK_PORT: String(admissionPort),
    WEBHOOK_SELF_SIGNED: NAMESPACE,
    METRICS_PORT: '0',
    DEFAULT_AGENT_IMAGE: 'stoker-operator/agent:demo',
  };
  const programs = await Promise.all([
    startProgram('receiver', { logs: dir, environment: { KUBECONFIG: kubeconfig, ...receiver } }),
    startProgram('controller', { logs: dir, environment: { KUBECONFIG: kubeconfig, ...controller } }),
  ]);
  return {
    /** URL for deliveries to the demo's GatewaySync. */
    webhookUrl: `http://127.0.0.1:${webhookPort}/webhook/${NAMESPACE}/${RESOURCE}`,
    stop: async () => void (await Promise.all(programs.map((program) => program.stop()))),
  };
}

/** Creates a pod through the API server, and runs its injected sidecar as a kubelet would. */
export async function startGateway(cluster: Cluster, object: typeof podObject = podObject): Promise<Gateway> {
  const pod = await cluster.client.create<InjectedPod>(corePath('pods', NAMESPACE), object);
  const root = path.join(cluster.dir, 'pods', pod.metadata.name);
  const environment = await sidecarEnvironment(cluster, pod, root);
  return { pod, agent: await startProgram('agent', { logs: root, environment }), data: path.join(root, 'data') };
}

/** Prints what to try, and stays until the user ends the demo; the demo itself doesn't need kubectl. */
export async function stayUp({ cluster, repository }: Stage, commands: string[]): Promise<void> {
  say(`the repository        git clone ${repository.url}   ${dim('(and push to it)')}`);
  say(`logs                  ${cluster.dir}/*.log, ${cluster.dir}/pods/*/*.log`);
  const kubectl = lookForBinary('kubectl');
  say(`with kubectl          ${kubectl ? '' : dim('(not installed here)')}`);
  const lines = commands.map((command) => `    ${kubectl ?? 'kubectl'} -n ${NAMESPACE} ${command}`);
  console.log(`\n    export KUBECONFIG=${cluster.kubeconfig}\n${lines.join('\n')}\n`);
  say(bold('Press Ctrl-C to stop everything.'));
  await new Promise(() => setInterval(() => {}, 1 << 30));
}
