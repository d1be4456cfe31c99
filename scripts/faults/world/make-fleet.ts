import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { corePath } from '../../../shared/io/kubernetes/resource-path.ts';
import { applyObject } from '../../testbed/apply-object.ts';
import { CallError } from '../../testbed/call-api.ts';
import type { Account } from '../../testbed/cluster-access.ts';
import { gatewayPodSpec, readyStatus } from '../../testbed/gateway-pod-spec.ts';
import { type InjectedPod, sidecarEnvironment } from '../../testbed/play-kubelet.ts';
import { succeeds } from '../../testbed/run-command.ts';
import { Gateway } from './gateway.ts';
import { ManagedProgram } from './managed-program.ts';
import { Resource } from './resource.ts';
import type { World } from './world.ts';

/** The Secret with the credentials for the private server. */
export const GIT_SECRET = { name: 'pumps-git', namespace: 'plant-a' };

/**
 * Each change goes to one gateway, then to another one that requires approval, then to the rest. Faults make some
 * previews take longer than the wait for them.
 */
const rollout = {
  previewTimeout: '5s',
  onFailure: 'Rollback',
  waves: [
    { name: 'canary', gateways: 1, soak: '1s' },
    { name: 'second', gateways: 1, approval: true },
  ],
};

const verify = { requests: [{ path: '/' }], for: '1s', interval: '1s', failureThreshold: 2 };

/** Creates GatewaySyncs, each with its gateways: polled and not, public and private, with waves and without. */
export async function makeFleet(world: World): Promise<void> {
  const { hosts, plane } = world;
  const stringData = { token: hosts.token(), ca: await readFile(hosts.caFile, 'utf8') };
  await applyObject(plane.server, { apiVersion: 'v1', kind: 'Secret', metadata: GIT_SECRET, stringData });
  const { name } = GIT_SECRET;
  const git = { auth: { token: { secretRef: { name, key: 'token' } } }, caSecretRef: { name, key: 'ca' } };
  const silent = { polling: { enabled: false } };
  const polled = { polling: { enabled: true, interval: '5s' } };
  const waves = { ...silent, rollout, gateway: { verify } };
  const planned = [
    { count: 3, options: { namespace: 'plant-a', name: 'lines', known: hosts.lines, spec: silent } },
    { count: 2, options: { namespace: 'plant-a', name: 'pumps', known: hosts.pumps, spec: polled, git } },
    { count: 3, options: { namespace: 'plant-b', name: 'fleet', known: hosts.fleet, spec: waves } },
  ];
  for (const { count, options } of planned) {
    const resource = new Resource(options);
    world.resources.push(resource);
    await applyObject(plane.server, resource.manifest());
    for (let index = 0; index < count; index += 1) await makeGateway(world, resource, index);
  }
}

/** Creates a gateway. The first one of each resource has a small disk, if the machine allows it. */
async function makeGateway(world: World, { namespace, name: resource }: Resource, index: number): Promise<void> {
  const name = `${resource}-${index}`;
  const data = path.join(world.directory, 'volumes', name);
  await mkdir(data, { recursive: true });
  const giveBack = index === 0 ? await mountSmallDisk(data) : undefined;
  if (giveBack) world.onStop(giveBack);
  const gateway = new Gateway({ name, namespace, resource, data, isSmall: giveBack !== undefined });
  await gateway.addForeign('own.db', `of the gateway ${name}`);
  await gateway.addForeign('config/own/history', `also of the gateway ${name}`);
  if (resource === 'fleet') gateway.port = await startGatewayServer(world, gateway);
  world.gateways.push(gateway);
  await givePod(world, gateway);
  gateway.agent?.start();
}

/** Starts the gateway itself, whose health depends on the files on its disk. */
async function startGatewayServer(world: World, gateway: Gateway): Promise<number> {
  const server = createServer((_, response) => response.writeHead(gateway.isBad() ? 500 : 200).end());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  world.onStop(() => server.close().closeAllConnections());
  return (server.address() as AddressInfo).port;
}

/** Size of a small disk, and content that doesn't fit on it. */
const MIB = 3;
export const TOO_MUCH = Buffer.alloc((MIB + 1) * 1024 * 1024);

/** Mounts a small disk at a directory if this machine allows it; returns a function that unmounts it, or undefined. */
async function mountSmallDisk(directory: string): Promise<(() => Promise<void>) | undefined> {
  if (!(await succeeds('mount', ['-t', 'tmpfs', '-o', `size=${MIB}m`, 'tmpfs', directory]))) return undefined;
  const giveBack = () => void spawnSync('umount', ['--lazy', directory]);
  process.once('exit', giveBack);
  return async () => {
    process.off('exit', giveBack);
    giveBack();
  };
}

/** Returns the path of a gateway's pod. */
export const podPath = ({ namespace, name }: Gateway): string => corePath('pods', namespace, name);

let pods = 0;

/** Creates a gateway's pod, which is injected, and prepares the agent of that pod without starting it. */
export async function givePod(world: World, gateway: Gateway): Promise<void> {
  const { plane, directory, hosts } = world;
  const { name, data, port } = gateway;
  const pod = await createPod(world, gateway);
  await plane.merge(`${podPath(gateway)}/status`, { status: readyStatus });
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
async function createPod({ plane }: World, gateway: Gateway): Promise<InjectedPod> {
  const { namespace, name, resource } = gateway;
  const annotations = { 'sync.io/inject': 'true', 'sync.io/cr-name': resource, 'sync.io/gateway-name': name };
  const body = { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace, annotations }, spec: gatewayPodSpec };
  try {
    return await plane.ask<InjectedPod>({ method: 'POST', path: corePath('pods', namespace), body });
  } catch (error) {
    // The response to an earlier attempt was lost.
    if (!(error instanceof CallError && error.status === 409)) throw error;
    return await plane.ask<InjectedPod>({ path: podPath(gateway) });
  }
}
