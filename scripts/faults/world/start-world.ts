import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { corePath } from '../../../shared/io/kubernetes/resource-path.ts';
import { applyNamespace } from '../../testbed/apply-object.ts';
import { createCertificates } from '../../testbed/certificates.ts';
import { freePort } from '../../testbed/free-port.ts';
import { makeTemporaryDirectory } from '../../testbed/temporary-directory.ts';
import type { Random } from '../random.ts';
import { startProxy } from './api-proxy.ts';
import { startPlane } from './control-plane.ts';
import { startFrontDoor } from './front-door.ts';
import { startGitHosts } from './git-hosts.ts';
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
  const plane = await startPlane(directory);
  onStop(() => plane.server.stop());
  const hosts = await startGitHosts(random);
  onStop(() => hosts.stop());
  for (const namespace of [OPERATOR, 'plant-a', 'plant-b']) await applyNamespace(plane.server, namespace);
  // Two replicas of each program.
  const webhookPorts = [await freePort(), await freePort()];
  const receiverPorts = [await freePort(), await freePort()];
  const secretFile = path.join(directory, 'webhook', 'secret');
  await mkdir(path.dirname(secretFile));
  const urls = receiverPorts.map((port) => `http://127.0.0.1:${port}`);
  const senders = new Senders(secretFile, urls);
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
      const proxy = await startProxy(plane.server, certificates);
      onStop(() => proxy.stop());
      return proxy;
    },
    onStop,
    stop,
  };
  const door = await freePort();
  const frontDoor = startFrontDoor(door, webhookPorts);
  onStop(() => frontDoor.close());
  await installRights(plane.server, door);
  for (const [index, port] of webhookPorts.entries()) {
    const MEMORY_PATH = path.join(directory, `memory-${index}`);
    await mkdir(MEMORY_PATH);
    const webhook = { WEBHOOK_PORT: String(port), WEBHOOK_SELF_SIGNED: `${OPERATOR}-webhook` };
    const replica = { name: `controller-${index}`, program: 'controller', account: OPERATOR } as const;
    world.controllers.push(
      await startReplica(world, replica, { LEASE_NAME: LEASE, MEMORY_PATH, TMPDIR: MEMORY_PATH, ...webhook }),
    );
  }
  for (const [index, port] of receiverPorts.entries()) {
    const environment = { RECEIVER_PORT: String(port), WEBHOOK_HMAC_SECRET_FILE: secretFile };
    const replica = { name: `receiver-${index}`, program: 'receiver', account: `${OPERATOR}-receiver` } as const;
    world.receivers.push(await startReplica(world, replica, environment));
  }
  onStop(() => Promise.all(world.programs().map((program) => program.kill())));
  await makeFleet(world);
  return world;
}

interface Replica {
  name: string;
  program: 'controller' | 'receiver';
  /** Its ServiceAccount. */
  account: string;
}

/** Starts a replica whose token is bound to a pod, as in a cluster: the audit log names it. */
async function startReplica(
  { plane, directory, makeProxy }: World,
  { name, program, account }: Replica,
  environment: Record<string, string>,
): Promise<ManagedProgram> {
  const spec = { serviceAccountName: account, containers: [{ name: 'program', image: 'program:1' }] };
  const body = { metadata: { name, namespace: OPERATOR }, spec };
  await plane.ask({ method: 'POST', path: corePath('pods', OPERATOR), body });
  const proxy = await makeProxy();
  const bound = { namespace: OPERATOR, serviceAccount: account, pod: name };
  const managed = await ManagedProgram.make(name, {
    program,
    proxy,
    logs: path.join(directory, 'logs'),
    environment: {
      KUBECONFIG: await plane.server.kubeconfigFor(bound, proxy),
      POD_NAME: name,
      POD_NAMESPACE: OPERATOR,
      ...environment,
    },
  });
  managed.start();
  return managed;
}
