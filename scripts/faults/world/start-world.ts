import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { corePath } from '../../../shared/io/kubernetes/resource-path.ts';
import { applyObject } from '../../testbed/apply-object.ts';
import { type Certificates, createCertificates } from '../../testbed/certificates.ts';
import { freePort } from '../../testbed/free-port.ts';
import { makeTemporaryDirectory } from '../../testbed/temporary-directory.ts';
import type { Random } from '../random.ts';
import { ApiProxy } from './api-proxy.ts';
import { ControlPlane } from './control-plane.ts';
import { startFrontDoor } from './front-door.ts';
import { GitHosts } from './git-hosts.ts';
import { makeFleet } from './make-fleet.ts';
import { ManagedProgram } from './managed-program.ts';
import { installRights, LEASE, OPERATOR } from './rights.ts';
import { Senders } from './senders.ts';
import type { World } from './world.ts';

/** Replicas of receiver and controller. */
const REPLICAS = 2;

/** Starts the control plane, the git servers, the operator, and all gateways; all randomness comes from `random`. */
export async function startWorld(random: Random): Promise<World> {
  const temporary = await makeTemporaryDirectory('faults-');
  const closers: (() => unknown)[] = [];
  const stop = async () => {
    for (const close of closers.reverse()) await close();
    await temporary.remove();
  };
  try {
    return await build(temporary.path, { random, closers, stop });
  } catch (error) {
    await stop();
    throw error;
  }
}

interface Site {
  random: Random;
  closers: (() => unknown)[];
  stop: () => Promise<void>;
}

async function build(directory: string, { random, closers, stop }: Site): Promise<World> {
  const certificates = await createCertificates(directory);
  const plane = await ControlPlane.start(directory);
  closers.push(() => plane.server.stop());
  const hosts = await GitHosts.start(random);
  closers.push(() => hosts.stop());
  for (const namespace of [OPERATOR, 'plant-a', 'plant-b']) await makeNamespace(plane, namespace);
  const proxies: ApiProxy[] = [];
  closers.push(() => proxies.forEach((proxy) => void proxy.stop()));
  const makeProxy = async () => {
    const proxy = await ApiProxy.start(plane.server, certificates);
    proxies.push(proxy);
    return proxy;
  };
  const operator = await startOperator({ directory, plane, certificates, makeProxy, closers });
  const world: World = {
    directory,
    plane,
    hosts,
    makeProxy,
    stop,
    ...operator,
    caFile: certificates.caFile,
    onStop: (close) => void closers.push(close),
    resources: [],
    gateways: [],
    programs: () => [...world.receivers, ...world.controllers, ...world.gateways.flatMap(({ agent }) => agent ?? [])],
  };
  closers.push(() => Promise.all(world.programs().map((program) => program.kill())));
  await makeFleet(world);
  return world;
}

async function makeNamespace(plane: ControlPlane, name: string): Promise<void> {
  await applyObject(plane.client, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace: name } };
  await applyObject(plane.client, account);
}

interface Ground {
  directory: string;
  plane: ControlPlane;
  certificates: Certificates;
  makeProxy: () => Promise<ApiProxy>;
  closers: (() => unknown)[];
}

/** Starts the receivers and the controllers, each with its own credential. */
async function startOperator(ground: Ground): Promise<Pick<World, 'receivers' | 'controllers' | 'senders'>> {
  const { directory, plane, closers } = ground;
  const [door, ...ports] = await Promise.all(Array.from({ length: 2 * REPLICAS + 1 }, freePort));
  const webhookPorts = ports.slice(0, REPLICAS);
  const receiverPorts = ports.slice(REPLICAS);
  const frontDoor = startFrontDoor(door as number, webhookPorts);
  closers.push(() => frontDoor.close());
  await installRights(plane.client, door as number);
  const secretFile = path.join(directory, 'webhook', 'secret');
  await mkdir(path.dirname(secretFile));
  const senders = new Senders(
    secretFile,
    receiverPorts.map((port) => `http://127.0.0.1:${port}`),
  );
  await senders.writeSecret();
  const controllers = await Promise.all(
    webhookPorts.map(async (port, index) => {
      const memory = path.join(directory, `memory-${index}`);
      await mkdir(memory);
      return await startReplica(
        ground,
        { program: 'controller', name: `controller-${index}`, account: OPERATOR },
        {
          LEASE_NAME: LEASE,
          WEBHOOK_PORT: String(port),
          WEBHOOK_SELF_SIGNED: `${OPERATOR}-webhook`,
          METRICS_PORT: String(await freePort()),
          DEFAULT_AGENT_IMAGE: 'agent:1',
          GIT_ALLOW_LOCAL: 'true',
          MEMORY_PATH: memory,
        },
      );
    }),
  );
  const receivers = await Promise.all(
    receiverPorts.map(async (port, index) => {
      const account = `${OPERATOR}-receiver`;
      return await startReplica(
        ground,
        { program: 'receiver', name: `receiver-${index}`, account },
        {
          RECEIVER_HOST: '127.0.0.1',
          RECEIVER_PORT: String(port),
          METRICS_PORT: String(await freePort()),
          WEBHOOK_HMAC_SECRET_FILE: secretFile,
        },
      );
    }),
  );
  return { receivers, controllers, senders };
}

interface Replica {
  program: 'controller' | 'receiver';
  name: string;
  account: string;
}

/** Starts a replica whose token is bound to a pod, as in a cluster: the audit log names it. */
async function startReplica(ground: Ground, replica: Replica, environment: Record<string, string>) {
  const { program, name, account } = replica;
  const { directory, plane, certificates, makeProxy } = ground;
  await plane.ask({ method: 'POST', path: corePath('pods', OPERATOR), body: podOf(name, account) });
  const proxy = await makeProxy();
  const access = plane.through(proxy, certificates.caFile);
  const managed = await ManagedProgram.make({
    name,
    program,
    proxy,
    logs: path.join(directory, 'logs'),
    environment: {
      KUBECONFIG: await access.kubeconfigFor({ namespace: OPERATOR, serviceAccount: account, pod: name }),
      POD_NAME: name,
      POD_NAMESPACE: OPERATOR,
      HEALTH_PORT: String(await freePort()),
      LOG_LEVEL: 'debug',
      ...environment,
    },
  });
  managed.start();
  return managed;
}

function podOf(name: string, serviceAccountName: string) {
  const containers = [{ name: 'program', image: 'program:1' }];
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: OPERATOR },
    spec: { serviceAccountName, containers },
  };
}
