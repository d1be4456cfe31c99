import { groupPath, syncReportPath } from '../../../shared/io/kubernetes/resource-path.ts';
import type { ControlPlane } from '../world/control-plane.ts';
import { givePod, podPath } from '../world/make-fleet.ts';
import type { ManagedProgram } from '../world/managed-program.ts';
import { LEASE, OPERATOR } from '../world/rights.ts';
import { type Breakages, type Broken, pick } from './breakage.ts';

/** Programs that end or freeze, and pods that are replaced while the agent of the old pod may still run. */
export const programs = {
  kill: (world, { target }) => kill(pick(world.programs(), target)),
  terminate: async (world, { target }) => {
    const program = pick(world.programs(), target);
    const ended = program.terminate();
    return { did: `terminated ${program.name}`, heal: () => ended.then(() => program.start()) };
  },
  stop: async (world, { target }) => stop(pick(world.programs(), target)),
  'stop for long': async (world, { target }) => stop(pick(world.programs(), target)),
  'kill the leader': async ({ plane, controllers }) => kill(await leader(plane, controllers)),
  'stop the leader': async ({ plane, controllers }) => stop(await leader(plane, controllers)),
  'replace a pod': async (world, { target, choice }) => {
    const gateway = pick(world.gateways, target);
    const before = gateway.agent;
    gateway.isDisturbed = true;
    // A node without a network connection: the agent of the old pod continues until it is ended.
    const livesOn = choice % 2 === 0;
    if (!livesOn) await before?.retire();
    await world.plane
      .ask({ method: 'DELETE', path: podPath(gateway), query: { gracePeriodSeconds: '0' } })
      .catch(() => {});
    await givePod(world, gateway);
    gateway.agent?.start();
    const did = `replaced the pod of ${gateway.name}`;
    return livesOn ? { did: `${did} and let its old agent run on`, heal: () => before?.retire() } : { did };
  },
} satisfies Breakages;

async function kill(program: ManagedProgram): Promise<Broken> {
  await program.kill();
  return { did: `killed ${program.name}`, heal: () => program.start() };
}

function stop(program: ManagedProgram): Broken {
  return { did: `paused ${program.name}`, heal: program.pause() };
}

/** Returns the controller that holds the Lease, or the first one. */
async function leader(plane: ControlPlane, controllers: ManagedProgram[]): Promise<ManagedProgram> {
  const path = groupPath('coordination.k8s.io/v1', 'leases', OPERATOR, LEASE);
  const lease = await plane.ask<{ spec?: { holderIdentity?: string } }>({ path }).catch(() => undefined);
  const holder = lease?.spec?.holderIdentity ?? '';
  return controllers.find(({ name }) => holder.startsWith(`${name}_`)) ?? pick(controllers, 0);
}

/** Changes by a user with too many permissions to the objects of the programs. */
export const objects = {
  'wipe a status': async ({ plane, resources }, { target }) => {
    const resource = pick(resources, target);
    await plane.merge(`${resource.path}/status`, { status: null });
    resource.intents.forgetOrder(resource.ref);
    return { did: `wiped the status of ${resource.name}` };
  },
  'delete the lease': async ({ plane }) => {
    await plane.delete(groupPath('coordination.k8s.io/v1', 'leases', OPERATOR, LEASE));
    return { did: 'deleted the Lease' };
  },
  'delete RoleBindings': async ({ plane, resources }, { target }) => {
    const { namespace } = pick(resources, target);
    const bindings = groupPath('rbac.authorization.k8s.io/v1', 'rolebindings', namespace);
    await plane.ask({ method: 'DELETE', path: bindings });
    return { did: `deleted the RoleBindings in ${namespace}` };
  },
  // A running agent checks only every five minutes whether its report exists.
  'delete a report': async ({ plane, gateways }, { target }) => {
    const { agent, namespace, name } = pick(gateways, target);
    await agent?.kill();
    await plane.delete(syncReportPath(namespace, name));
    return { did: `killed the agent of ${name} and deleted its report`, heal: () => agent?.start() };
  },
} satisfies Breakages;
