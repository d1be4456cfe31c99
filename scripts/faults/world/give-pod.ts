import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { corePath } from '../../../shared/io/kubernetes/resource-path.ts';
import { CallError } from '../../testbed/call-api.ts';
import { freePort } from '../../testbed/free-port.ts';
import { type InjectedPod, sidecarEnvironment } from '../../testbed/play-kubelet.ts';
import type { Gateway } from './gateway.ts';
import { ManagedProgram } from './managed-program.ts';
import type { World } from './world.ts';

let pods = 0;

/** Creates a gateway's pod, which is injected, and prepares the agent of that pod without starting it. */
export async function givePod(world: World, gateway: Gateway): Promise<void> {
  const { plane, caFile, directory, hosts } = world;
  const { namespace, name, data } = gateway;
  const pod = await createPod(world, gateway);
  await plane.merge(`${corePath('pods', namespace, name)}/status`, {
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
  });
  const proxy = gateway.agent?.proxy ?? (await world.makeProxy());
  pods += 1;
  const root = path.join(directory, 'pods', `${name}-${pods}`);
  const environment = await sidecarEnvironment(plane.through(proxy, caFile), pod, root);
  const tokenFile = environment.GIT_TOKEN_FILE;
  gateway.agent = await ManagedProgram.make({
    name,
    program: 'agent',
    proxy,
    logs: path.join(directory, 'logs'),
    environment: {
      ...environment,
      DATA_PATH: data,
      ...(gateway.port && { GATEWAY_PORT: String(gateway.port) }),
      HEALTH_PORT: String(await freePort()),
      METRICS_PORT: String(await freePort()),
      LOG_LEVEL: 'debug',
    },
  });
  if (tokenFile) gateway.updateToken = () => writeFile(tokenFile, hosts.token, { mode: 0o600 });
}

/** Pods are refused while no controller responds, so this retries like a Deployment. */
async function createPod({ plane }: World, { namespace, name, resource }: Gateway): Promise<InjectedPod> {
  const metadata = {
    name,
    namespace,
    annotations: { 'sync.io/inject': 'true', 'sync.io/cr-name': resource, 'sync.io/gateway-name': name },
  };
  const spec = {
    securityContext: { runAsUser: 2003, runAsGroup: 2003, fsGroup: 2003 },
    containers: [{ name: 'gateway', image: 'gateway:1', volumeMounts: [{ name: 'data', mountPath: '/data' }] }],
    volumes: [{ name: 'data', emptyDir: {} }],
  };
  const body = { apiVersion: 'v1', kind: 'Pod', metadata, spec };
  try {
    return await plane.ask<InjectedPod>({ method: 'POST', path: corePath('pods', namespace), body });
  } catch (error) {
    // The response to an earlier attempt was lost.
    if (!(error instanceof CallError && error.status === 409)) throw error;
    return await plane.ask<InjectedPod>({ path: corePath('pods', namespace, name) });
  }
}
