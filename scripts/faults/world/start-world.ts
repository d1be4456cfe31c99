import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { corePath } from '../../../shared/io/kubernetes/resource-path.ts';
import { applyNamespace } from '../../testbed/apply-object.ts';
import { createCertificates } from '../../testbed/certificates.ts';
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

/** Starts the control plane, the git servers, the operator, and all gateways; all randomness comes from `random`. */
export async function startWorld(random: Random): Promise<World> {
  const temporary = await makeTemporaryDirectory('faults-');
  const closers: (() => unknown)[] = [() => temporary.remove()];
  const stop = async () => {
    for (const close of closers.reverse()) await close();
  };
  try {
    return await build(temporary.path, random, { stop, onStop: (close) => void closers.push(close) });
  } catch (error) {
    await stop();
    throw error;
  }
}

async function build(
  directory: string,
  random: Random,
  { stop, onStop }: Pick<World, 'stop' | 'onStop'>,
): Promise<World> {
  const certificates = await createCertificates(directory);
  const plane = await ControlPlane.start(directory);
  onStop(() => plane.server.stop());
  const hosts = await GitHosts.start(random);
  onStop(() => hosts.stop());
  for (const namespace of [OPERATOR, 'plant-a', 'plant-b']) await applyNamespace(plane.server, namespace);
  // Two replicas of each program.
  const webhookPorts = [await freePort(), await freePort()];
  const receiverPorts = [await freePort(), await freePort()];
  const secretFile = path.join(directory, 'webhook', 'secret');
  await mkdir(path.dirname(secretFile));
  const senders = new Senders(
    secretFile,
    receiverPorts.map((port) => `http://127.0.0.1:${port}`),
  );
  await senders.writeSecret();
  const world: World = {
    directory,
    plane,
    hosts,
    senders,
    resources: [],
    gateways: [],
    receivers: [],
    controllers: [],
    programs: () => [...world.receivers, ...world.controllers, ...world.gateways.flatMap(({ agent }) => agent ?? [])],
    makeProxy: async () => {
      const proxy = await ApiProxy.start(plane.server, certificates);
      onStop(() => proxy.stop());
      return proxy;
    },
    onStop,
    stop,
  };
  await startControllers(world, webhookPorts);
  await startReceivers(world, receiverPorts, secretFile);
  onStop(() => Promise.all(world.programs().map((program) => program.kill())));
  await makeFleet(world);
  return world;
}

async function startControllers(world: World, ports: number[]): Promise<void> {
  const door = await freePort();
  const frontDoor = startFrontDoor(door, ports);
  world.onStop(() => frontDoor.close());
  await installRights(world.plane.server, door);
  for (const [index, port] of ports.entries()) {
    const memory = path.join(world.directory, `memory-${index}`);
    await mkdir(memory);
    const environment = {
      LEASE_NAME: LEASE,
      WEBHOOK_PORT: String(port),
      WEBHOOK_SELF_SIGNED: `${OPERATOR}-webhook`,
      MEMORY_PATH: memory,
    };
    const name = `controller-${index}`;
    world.controllers.push(await startReplica(world, { name, program: 'controller', account: OPERATOR, environment }));
  }
}

async function startReceivers(world: World, ports: number[], secretFile: string): Promise<void> {
  for (const [index, port] of ports.entries()) {
    const environment = { RECEIVER_PORT: String(port), WEBHOOK_HMAC_SECRET_FILE: secretFile };
    const name = `receiver-${index}`;
    const account = `${OPERATOR}-receiver`;
    world.receivers.push(await startReplica(world, { name, program: 'receiver', account, environment }));
  }
}

interface Replica {
  name: string;
  program: 'controller' | 'receiver';
  /** Its ServiceAccount. */
  account: string;
  environment: Record<string, string>;
}

/** Starts a replica whose token is bound to a pod, as in a cluster: the audit log names it. */
async function startReplica({ plane, directory, makeProxy }: World, replica: Replica): Promise<ManagedProgram> {
  const { name, program, account, environment } = replica;
  const pod = {
    metadata: { name, namespace: OPERATOR },
    spec: { serviceAccountName: account, containers: [{ name: 'program', image: 'program:1' }] },
  };
  await plane.ask({ method: 'POST', path: corePath('pods', OPERATOR), body: pod });
  const proxy = await makeProxy();
  const KUBECONFIG = await plane.server.kubeconfigFor(
    { namespace: OPERATOR, serviceAccount: account, pod: name },
    proxy,
  );
  const managed = await ManagedProgram.make(name, {
    program,
    proxy,
    logs: path.join(directory, 'logs'),
    environment: { KUBECONFIG, POD_NAME: name, POD_NAMESPACE: OPERATOR, ...environment },
  });
  managed.start();
  return managed;
}
