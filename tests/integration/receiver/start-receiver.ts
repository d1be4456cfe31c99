import type { TestContext } from 'node:test';
import { readReceiverConfig } from '../../../receiver/config.ts';
import { type ReceiverHost, runReceiver } from '../../../receiver/run-receiver.ts';
import type { ServerDetails } from '../../../scripts/testbed/call-api.ts';
import { callApi } from '../../../scripts/testbed/call-api.ts';
import type { ClusterAccess } from '../../../scripts/testbed/cluster-access.ts';
import { freePort } from '../../../scripts/testbed/free-port.ts';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import { gatewaySyncPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { type OwnProgram, startOwnProgram } from '../../support/own-program.ts';
import { type Program, startProgram } from '../../support/program.ts';

export interface Receiver<P = Program> {
  program: P;
  port: number;
  healthUrl: string;
  metricsUrl: string;
  /** Posts to `/webhook/{namespace}/{name}`. */
  post(target: string, body: object | string, headers?: Record<string, string>): Promise<Reply>;
}

interface Reply {
  status: number;
  headers: Headers;
  body: Record<string, unknown>;
}

/** Runs a receiver in the process of the test against a cluster, and waits until it listens. */
export async function startOwnReceiver(
  t: TestContext,
  kubeconfig: string,
  env: Record<string, string> = {},
  times: ReceiverHost['times'] = {},
): Promise<Receiver<OwnProgram<void>>> {
  const { environment, ...receiver } = await environmentOf(kubeconfig, env);
  const config = readReceiverConfig(environment);
  const options = { name: 'receiver', env: environment, level: config.LOG_LEVEL };
  const program = startOwnProgram(t, options, (host) =>
    runReceiver(config, { ...host, times: { lameDuckMs: 0, ...times } }),
  );
  await program.waitForLog(/"msg":"listening"/);
  return { program, ...receiver };
}

/** Runs such a receiver as a process, for tests that signal or inspect it. */
export async function startReceiver(
  t: TestContext,
  kubeconfig: string,
  env: Record<string, string> = {},
  nodeArgs: string[] = [],
): Promise<Receiver> {
  const { environment, ...receiver } = await environmentOf(kubeconfig, env);
  const program = startProgram(t, 'dist/receiver.mjs', { nodeArgs, env: environment });
  await program.waitForLog(/"msg":"listening"/);
  return { program, ...receiver };
}

async function environmentOf(kubeconfig: string, env: Record<string, string>) {
  const port = await freePort();
  const health = await freePort();
  const metrics = await freePort();
  return {
    environment: {
      KUBECONFIG: kubeconfig,
      RECEIVER_HOST: '127.0.0.1',
      RECEIVER_PORT: String(port),
      HEALTH_PORT: String(health),
      METRICS_PORT: String(metrics),
      ...env,
    },
    port,
    healthUrl: `http://127.0.0.1:${health}`,
    metricsUrl: `http://127.0.0.1:${metrics}/metrics`,
    post: async (target: string, body: object | string, headers: Record<string, string> = {}): Promise<Reply> => {
      const response = await fetch(`http://127.0.0.1:${port}/webhook/${target}`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      });
      return {
        status: response.status,
        headers: response.headers,
        body: (await response.json()) as Record<string, unknown>,
      };
    },
  };
}

/** Makes a GatewaySync that nobody reconciles. */
export async function createGatewaySync(cluster: ServerDetails, namespace: string, name: string): Promise<void> {
  const spec = {
    git: { repo: 'https://git.example.test/site.git', ref: 'main' },
    sync: { profiles: { default: { mappings: [{ source: 'a', destination: 'b' }] } } },
  };
  const object = { apiVersion: 'sync.io/v1alpha1', kind: 'GatewaySync', metadata: { namespace, name }, spec };
  await callApi(cluster, { method: 'POST', path: gatewaySyncPath(namespace), body: object });
}

/** The annotations of a GatewaySync that this project writes. */
export async function annotationsOf(
  cluster: ServerDetails,
  namespace: string,
  name: string,
): Promise<Record<string, string>> {
  const { metadata } = await callApi<GatewaySync>(cluster, { path: gatewaySyncPath(namespace, name) });
  const annotations = metadata.annotations ?? {};
  return Object.fromEntries(Object.entries(annotations).filter(([key]) => key.startsWith('sync.io/')));
}

/** A kubeconfig of an account that may patch GatewaySyncs in one namespace, and no more. */
export async function patchOnlyKubeconfig(cluster: ClusterAccess, namespace: string): Promise<string> {
  const names = ['--namespace', namespace];
  await cluster.kubectl('create', 'serviceaccount', 'receiver', ...names);
  await cluster.kubectl('create', 'role', 'receiver', '--verb=patch', '--resource=gatewaysyncs.sync.io', ...names);
  await cluster.kubectl(
    'create',
    'rolebinding',
    'receiver',
    '--role=receiver',
    `--serviceaccount=${namespace}:receiver`,
    ...names,
  );
  return await cluster.kubeconfigFor({ namespace, serviceAccount: 'receiver' });
}
