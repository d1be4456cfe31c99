import { mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { corePath } from '../../../shared/io/kubernetes/resource-path.ts';
import { Gateway } from './gateway.ts';
import { givePod } from './give-pod.ts';
import { Resource } from './resource.ts';
import { applyManifest } from './rights.ts';
import { smallFolder } from './small-folder.ts';
import type { World } from './world.ts';

/** The Secret with what the private host wants. */
export const GIT_SECRET = { name: 'pumps-git', namespace: 'plant-a' };

/** Each change goes to one gateway, then to another one that somebody must approve, then to the rest. */
const rollout = {
  waves: [
    { name: 'canary', gateways: 1, soak: '1s' },
    { name: 'second', gateways: 1, approval: true },
  ],
};

/** The GatewaySyncs, and how many gateways each has: polled and not, public and private, with waves and without. */
export async function makeFleet(world: World): Promise<void> {
  const { hosts, plane } = world;
  const secret = { token: hosts.token, ca: await readFile(hosts.caFile, 'utf8') };
  await applyManifest(plane.client, {
    ...{ apiVersion: 'v1', kind: 'Secret', metadata: GIT_SECRET },
    ...{ stringData: secret },
  });
  const { name } = GIT_SECRET;
  const git = { auth: { token: { secretRef: { name, key: 'token' } } }, caSecretRef: { name, key: 'ca' } };
  const silent = { polling: { enabled: false } };
  const polled = { polling: { enabled: true, interval: '5s' } };
  const planned = [
    { resource: new Resource({ namespace: 'plant-a', name: 'lines', known: hosts.lines, spec: silent }), count: 3 },
    {
      resource: new Resource({ namespace: 'plant-a', name: 'pumps', known: hosts.pumps, spec: polled, git }),
      count: 2,
    },
    {
      resource: new Resource({ namespace: 'plant-b', name: 'fleet', known: hosts.fleet, spec: { ...silent, rollout } }),
      count: 3,
    },
  ];
  for (const { resource, count } of planned) {
    world.resources.push(resource);
    await applyManifest(plane.client, resource.manifest());
    for (let index = 0; index < count; index += 1) await makeGateway(world, resource, index);
  }
}

/** The first one of each resource has a small disk where that can be made. */
async function makeGateway(world: World, { namespace, name: resource }: Resource, index: number): Promise<void> {
  const name = `${resource}-${index}`;
  const data = path.join(world.folder, 'volumes', name);
  await mkdir(data, { recursive: true });
  const giveBack = index === 0 ? await smallFolder(data) : undefined;
  if (giveBack) world.onStop(giveBack);
  const gateway = new Gateway({ name, namespace, resource, data, isSmall: giveBack !== undefined });
  await gateway.addForeign('own.db', `of the gateway ${name}`);
  await gateway.addForeign('config/own/history', `of the gateway ${name}, too`);
  world.gateways.push(gateway);
  await givePod(world, gateway);
  gateway.agent?.start();
}

/** The path of a gateway's pod. */
export const podPath = ({ namespace, name }: Gateway): string => corePath('pods', namespace, name);
