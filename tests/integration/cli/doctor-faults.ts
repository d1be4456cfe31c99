import { CLUSTER_FAULTS } from './doctor-cluster-faults.ts';
import type { Change, Fault } from './doctor-fault.ts';
import { GATEWAY_FAULTS } from './doctor-gateway-faults.ts';
import { INJECTION_FAULTS } from './doctor-injection-faults.ts';
import { POD_FAULTS } from './doctor-pod-faults.ts';
import { REFUSED_FAULTS } from './doctor-refused-faults.ts';
import type { World } from './doctor-world.ts';

/** Applies a fault, and returns a function that reverts it. */
export async function seed(world: World, { change }: Fault): Promise<() => Promise<void>> {
  const undos: (() => Promise<void>)[] = [];
  for (const step of change) undos.unshift(await apply(world, step));
  return async () => {
    for (const undo of undos) await undo();
  };
}

async function apply(world: World, step: Change): Promise<() => Promise<void>> {
  if ('add' in step) {
    const { metadata } = await world.add(step.add, step.object);
    return () => world.remove(`${step.add}/${metadata.name}`);
  }
  const path = 'remove' in step ? step.remove : step.patch;
  const before = await world.read(path);
  if (!before) throw new Error(`There is no ${path}.`);
  if ('remove' in step) {
    await world.remove(path);
    return async () => void (await world.add(path.slice(0, path.lastIndexOf('/')), before));
  }
  const subresource = step.status ? '/status' : '';
  await world.patch(path, step.with, subresource);
  return async () => {
    const { metadata } = await world.call<{ metadata: { resourceVersion: string } }>({ path });
    const { resourceVersion } = metadata;
    const body = { ...before, metadata: { ...before.metadata, resourceVersion } };
    await world.call({ method: 'PUT', path: `${path}${subresource}`, body });
  };
}

/** All faults. */
export const FAULTS: readonly Fault[] = [
  ...[...CLUSTER_FAULTS, ...INJECTION_FAULTS, ...GATEWAY_FAULTS],
  ...[...REFUSED_FAULTS, ...POD_FAULTS],
];
