import { once } from 'node:events';
import { mkdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { corePath } from '../../../shared/io/kubernetes/resource-path.ts';
import { applyObject } from '../../testbed/apply-object.ts';
import { Gateway } from './gateway.ts';
import { givePod } from './give-pod.ts';
import { Resource } from './resource.ts';
import { mountSmallDisk } from './small-disk.ts';
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
  const secret = { token: hosts.token(), ca: await readFile(hosts.caFile, 'utf8') };
  await applyObject(plane.server, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: GIT_SECRET,
    stringData: secret,
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
      resource: new Resource({
        namespace: 'plant-b',
        name: 'fleet',
        known: hosts.fleet,
        spec: { ...silent, rollout, gateway: { verify } },
      }),
      count: 3,
    },
  ];
  for (const { resource, count } of planned) {
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

/** Returns the path of a gateway's pod. */
export const podPath = ({ namespace, name }: Gateway): string => corePath('pods', namespace, name);
