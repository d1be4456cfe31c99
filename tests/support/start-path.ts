import { randomBytes } from 'node:crypto';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { agentClusterRole } from '../../scripts/testbed/agent-role.ts';
import { freePort } from '../../scripts/testbed/free-port.ts';
import type { GitRepository } from '../../scripts/testbed/git-repository.ts';
import { type InjectedPod, sidecarEnvironment } from '../../scripts/testbed/play-kubelet.ts';
import { signDelivery } from '../../scripts/testbed/sign-delivery.ts';
import { corePath } from '../../shared/io/kubernetes/resource-path.ts';
import type { Scope } from './clean-up.ts';
import { apply, callApi, connectCluster, createNamespace } from './cluster.ts';
import { gatewayPod } from './gateway-pods.ts';
import { type Address, applyGatewaySync } from './gateway-syncs.ts';
import { gitServerFor } from './git-server-for.ts';
import { type Program, startProgram } from './program.ts';
import { startControllerProcess } from './start-controller.ts';
import { temporaryDirectory } from './temporary-directory.ts';
import { installWebhook, untilWebhookWorks } from './webhook-configuration.ts';

/** The three programs of one namespace, each of which can be restarted unchanged. */
export interface WholePath {
  address: Address;
  repository: GitRepository;
  /** The gateway's data volume. */
  data: string;
  /** The programs that are running. */
  running: Record<ProgramName, Program>;
  start: Record<ProgramName, () => Promise<void>>;
  /** Ports of their metrics: HTTPS with permissions for the controller, else plain HTTP. */
  metricsPorts: Record<ProgramName, number>;
  /** URL for deliveries to the resource. */
  webhookUrl: string;
  /** Sends a signed delivery, and returns the status of the response. */
  post: (event: string, body: object) => Promise<number>;
  /** Sends a delivery without an event header, with Basic authentication. */
  postPlain: (body: object) => Promise<{ status: number; requestId: string }>;
}

export type ProgramName = 'receiver' | 'controller' | 'agent';

/** Starts everything between a git server and a gateway's disk, with one injected pod. */
export async function startPath(
  t: TestContext,
  files: Record<string, string>,
  { repositoryName = 'app', cloneUrl = (url: string) => url } = {},
): Promise<WholePath> {
  const server = await gitServerFor(t);
  const repository = await server.createRepository(repositoryName);
  await repository.commit({ files });
  const address = { namespace: await createNamespace(t), name: 'app' };
  await apply(agentClusterRole);
  const receiver = await receiverStarter(t);
  const controller = await controllerStarter(t, address.namespace);
  const running = { receiver: await receiver.start(), controller: await controller.start() } as WholePath['running'];
  await applyGatewaySync(address, { repo: cloneUrl(repository.url) });
  const agent = await gatewayStarter(t, address.namespace);
  const webhookUrl = `${receiver.url}/webhook/${address.namespace}/${address.name}`;
  running.agent = await agent.start();
  return {
    address,
    repository,
    running,
    data: agent.data,
    metricsPorts: {
      receiver: receiver.metricsPort,
      controller: controller.metricsPort,
      agent: agent.metricsPort,
    },
    start: {
      receiver: async () => {
        running.receiver = await receiver.start();
      },
      controller: async () => {
        running.controller = await controller.start();
      },
      agent: async () => {
        running.agent = await agent.start();
      },
    },
    webhookUrl,
    post: (event, body) => receiver.post(webhookUrl, event, body),
    postPlain: (body) => receiver.postPlain(webhookUrl, body),
  };
}

async function receiverStarter(t: Scope) {
  const { kubeconfig } = await connectCluster();
  const secret = randomBytes(16).toString('hex');
  const [port, health, metrics] = await Promise.all([freePort(), freePort(), freePort()]);
  const env = {
    KUBECONFIG: kubeconfig,
    RECEIVER_HOST: '127.0.0.1',
    RECEIVER_PORT: String(port),
    HEALTH_PORT: String(health),
    METRICS_PORT: String(metrics),
    WEBHOOK_HMAC_SECRET: secret,
    WEBHOOK_BEARER_TOKEN: secret,
  };
  return {
    url: `http://127.0.0.1:${port}`,
    metricsPort: metrics,
    start: async () => {
      const program = startProgram(t, 'dist/receiver.mjs', { env });
      await program.waitForLog(/listening/);
      return program;
    },
    post: async (url: string, event: string, value: object) => {
      const body = JSON.stringify(value);
      const signature = signDelivery(body, secret);
      const headers = { 'Content-Type': 'application/json', 'X-GitHub-Event': event, 'X-Hub-Signature-256': signature };
      return (await fetch(url, { method: 'POST', headers, body })).status;
    },
    postPlain: async (url: string, value: object) => {
      const headers = { 'Content-Type': 'application/json', Authorization: `Basic ${btoa(`hook:${secret}`)}` };
      const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(value) });
      const { requestId = '' } = (await response.json()) as { requestId?: string };
      return { status: response.status, requestId };
    },
  };
}

export async function controllerStarter(t: Scope, namespace: string) {
  const [port, metricsPort] = await Promise.all([freePort(), freePort()]);
  await installWebhook(t, { name: namespace, namespace, port });
  const environment = {
    WEBHOOK_PORT: String(port),
    WEBHOOK_SELF_SIGNED: namespace,
    METRICS_PORT: String(metricsPort),
    DEFAULT_AGENT_IMAGE: 'agent:1',
  };
  return {
    metricsPort,
    start: async (bundle?: string) => {
      const controller = await startControllerProcess(t, namespace, environment, bundle);
      await untilWebhookWorks(namespace);
      return controller;
    },
  };
}

interface GatewayOptions {
  name?: string;
  /** The pod before injection, with this name. */
  pod?: object;
  /** Environment that differs from that of the sidecar. */
  env?: Record<string, string>;
  /** Command that runs the sidecar. */
  within?: string[];
}

/** Creates a pod through the API server and runs its injected sidecar. */
export async function gatewayStarter(t: Scope, namespace: string, options: GatewayOptions = {}) {
  const { name = 'gateway-0', pod: body = gatewayPod(namespace, name), within } = options;
  const cluster = await connectCluster();
  const created = await callApi<InjectedPod>({ method: 'POST', path: corePath('pods', namespace), body });
  const root = await temporaryDirectory(t, 'pod-');
  const environment = await sidecarEnvironment(cluster, created, root);
  const [health, metrics] = await Promise.all([freePort(), freePort()]);
  const env = { ...environment, HEALTH_PORT: String(health), METRICS_PORT: String(metrics), ...options.env };
  return {
    data: path.join(root, 'data'),
    metricsPort: metrics,
    start: async (bundle = 'dist/agent.mjs') => startProgram(t, bundle, { env, within }),
  };
}
