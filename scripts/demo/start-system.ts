import path from 'node:path';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { corePath } from '../../shared/io/kubernetes/resource-path.ts';
import { applyObject } from '../testbed/apply-object.ts';
import type { ServerAccess } from '../testbed/cluster-access.ts';
import { freePort } from '../testbed/free-port.ts';
import { type InjectedPod, sidecarEnvironment } from '../testbed/play-kubelet.ts';
import { type RunningProgram, startProgram } from '../testbed/programs.ts';
import { webhookConfiguration } from '../testbed/webhook-configuration.ts';
import { NAMESPACE, podObject, RESOURCE } from './objects.ts';

/** The API server for everything, and a client with all permissions. */
export interface Cluster extends ServerAccess {
  client: KubernetesClient;
}

/** A receiver and a controller that run on this machine. */
export interface Operator {
  /** URL for deliveries to the demo's GatewaySync. */
  webhookUrl: string;
  stop(): Promise<void>;
}

/** An injected pod, and the agent that runs in place of its sidecar. */
export interface Gateway {
  pod: InjectedPod;
  agent: RunningProgram;
  /** The gateway's data volume on this machine. */
  data: string;
}

/** Starts the receiver, which verifies deliveries with `secret`, and the controller with its admission webhook. */
export async function startOperator(cluster: ServerAccess, secret: string): Promise<Operator> {
  const [webhookPort, admissionPort] = await Promise.all([freePort(), freePort()]);
  const { kubeconfig, dir } = cluster;
  await applyObject(cluster, webhookConfiguration({ name: NAMESPACE, namespace: NAMESPACE, port: admissionPort }));
  const receiver = { RECEIVER_PORT: String(webhookPort), WEBHOOK_HMAC_SECRET: secret };
  const controller = {
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
