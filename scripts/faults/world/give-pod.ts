import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { corePath } from '../../../shared/io/kubernetes/resource-path.ts';
import { CallError } from '../../testbed/call-api.ts';
import type { Account } from '../../testbed/cluster-access.ts';
import { gatewayPodSpec } from '../../testbed/gateway-pod-spec.ts';
import { type InjectedPod, sidecarEnvironment } from '../../testbed/play-kubelet.ts';
import type { Gateway } from './gateway.ts';
import { ManagedProgram } from './managed-program.ts';
import type { World } from './world.ts';

let pods = 0;

/** Creates a gateway's pod, which is injected, and prepares the agent of that pod without starting it. */
export async function givePod(world: World, gateway: Gateway): Promise<void> {
  const { plane, directory, hosts } = world;
  const { namespace, name, data, port } = gateway;
  const pod = await createPod(world, gateway);
  await plane.merge(`${corePath('pods', namespace, name)}/status`, {
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
  });
  const proxy = gateway.agent?.proxy ?? (await world.makeProxy());
  pods += 1;
  const root = path.join(directory, 'pods', `${name}-${pods}`);
  const { server } = plane;
  const cluster = { ...server, kubeconfigFor: (account: Account) => server.kubeconfigFor(account, proxy) };
  const environment = await sidecarEnvironment(cluster, pod, root);
  environment.DATA_PATH = data;
  environment.LOG_LEVEL = 'debug';
  if (port !== undefined) environment.GATEWAY_PORT = String(port);
  const logs = path.join(directory, 'logs');
  gateway.agent = await ManagedProgram.make(name, { program: 'agent', proxy, logs, environment });
  const tokenFile = environment.GIT_TOKEN_FILE;
  if (tokenFile) gateway.updateToken = () => writeFile(tokenFile, hosts.token(), { mode: 0o600 });
}

/** Pods are refused while no controller responds, so this retries like a Deployment. */
async function createPod({ plane }: World, { namespace, name, resource }: Gateway): Promise<InjectedPod> {
  const metadata = {
    name,
    namespace,
    annotations: { 'sync.io/inject': 'true', 'sync.io/cr-name': resource, 'sync.io/gateway-name': name },
  };
  const body = { apiVersion: 'v1', kind: 'Pod', metadata, spec: gatewayPodSpec };
  try {
    return await plane.ask<InjectedPod>({ method: 'POST', path: corePath('pods', namespace), body });
  } catch (error) {
    // The response to an earlier attempt was lost.
    if (!(error instanceof CallError && error.status === 409)) throw error;
    return await plane.ask<InjectedPod>({ path: corePath('pods', namespace, name) });
  }
}
