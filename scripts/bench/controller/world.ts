import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import { API_VERSION, GATEWAY_SYNC } from '../../../shared/api/group.ts';
import type { KubernetesClient } from '../../../shared/io/kubernetes/client.ts';
import { Reflector } from '../../../shared/io/kubernetes/reflector.ts';
import { corePath, gatewaySyncPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { createLogger } from '../../../shared/log.ts';
import { clientOf } from '../../testbed/client-of.ts';
import { type ControlPlane, startControlPlane } from '../../testbed/control-plane.ts';
import type { GitRepository } from '../../testbed/git-repository.ts';
import { type GitServer, startGitServer } from '../../testbed/git-server.ts';
import { installCrds } from '../../testbed/install-crds.ts';
import { step } from '../../testbed/step.ts';

export const NAMESPACE = 'bench';
/** Connections of the controller that reconcile, and of the direct patches that it is compared with. */
const CONNECTIONS = 8;

/** What is measured. */
export interface Scale {
  resources: number;
  repositories: number;
  /** Hosts over which the repositories are spread, since each host has its own limit. */
  hosts: number;
  pods: number;
  requests: number;
  /** Seconds between two polls. */
  interval: number;
}

export interface World {
  cluster: ControlPlane;
  server: GitServer;
  repositories: GitRepository[];
  client: KubernetesClient;
  mirror: Reflector<GatewaySync, GatewaySync>;
}

/** A control plane, a git server, and all resources and pods; the controller does not run yet. */
export async function makeWorld(scale: Scale): Promise<World> {
  const cluster = await step('Starting a control plane', () => startControlPlane());
  await installCrds(cluster);
  await cluster.kubectl('create', 'namespace', NAMESPACE);
  const client = clientOf(cluster.kubeconfig, { userAgent: 'bench', maxSockets: 64 });
  const mirror = new Reflector<GatewaySync, GatewaySync>({
    client,
    path: gatewaySyncPath(NAMESPACE),
    pageSize: 500,
    project: (object) => object,
    onChange: () => {},
    log: createLogger('bench', { level: 'silent' }),
  });
  void mirror.run(new AbortController().signal);
  await mirror.firstSync;
  const server = await startGitServer({ address: '0.0.0.0' });
  const repositories = await step(`Creating ${scale.repositories} repositories`, () =>
    createRepositories(server, scale.repositories),
  );
  const world = { cluster, server, client, mirror, repositories };
  await step(`Creating ${scale.resources} resources`, () => createResources(world, scale));
  if (scale.pods > 0) await step(`Creating ${scale.pods} pods`, () => createPods(client, scale));
  return world;
}

/** The floor: the statuses that the controller wrote, written directly over as many connections. In seconds. */
export async function patchDirectly({ client, mirror }: World): Promise<number> {
  const statuses = Array.from(mirror.store.values(), ({ metadata, status }) => ({ name: metadata.name, status }));
  const path = (index: number) => `${gatewaySyncPath(NAMESPACE, statuses[index]?.name)}/status`;
  await inParallel(statuses.length, 32, (index) => client.mergePatch(path(index), { status: null }));
  const started = performance.now();
  await inParallel(statuses.length, CONNECTIONS, (index) =>
    client.mergePatch(path(index), { status: statuses[index]?.status }),
  );
  return (performance.now() - started) / 1000;
}

async function createRepositories(server: GitServer, count: number): Promise<GitRepository[]> {
  const repositories: GitRepository[] = [];
  for (let index = 0; index < count; index += 1) {
    const repository = await server.createRepository(`repository-${index}`);
    await repository.commit({ files: { 'config/a': '1' } });
    await repository.tag('v1');
    await repository.tag('v2');
    repositories.push(repository);
  }
  return repositories;
}

async function createResources({ client, repositories }: World, scale: Scale): Promise<void> {
  const urls = repositories.map(({ url }, index) => url.replace('127.0.0.1', `127.0.0.${1 + (index % scale.hosts)}`));
  await inParallel(scale.resources, 32, (index) =>
    client.create(gatewaySyncPath(NAMESPACE), {
      apiVersion: API_VERSION,
      kind: GATEWAY_SYNC.kind,
      metadata: { name: `resource-${index}`, namespace: NAMESPACE },
      spec: {
        git: { repo: urls[index % urls.length], ref: 'main' },
        polling: { interval: `${scale.interval}s` },
        sync: { profiles: { default: { mappings: [{ source: 'config', destination: 'config' }] } } },
      },
    }),
  );
}

async function createPods(client: KubernetesClient, { pods, resources }: Scale): Promise<void> {
  await inParallel(pods, 32, (index) =>
    client.create(corePath('pods', NAMESPACE), {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: `pod-${index}`,
        labels: { 'sync.io/agent': 'true' },
        annotations: { 'sync.io/inject': 'true', 'sync.io/cr-name': `resource-${index % resources}` },
      },
      spec: {
        containers: [{ name: 'gateway', image: 'gateway:1' }],
        initContainers: [{ name: 'sync-agent', image: 'agent:1', restartPolicy: 'Always' }],
      },
    }),
  );
}

/** Does so many pieces of work, so many at a time. */
export async function inParallel(
  count: number,
  lanes: number,
  work: (index: number) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const lane = async () => {
    for (let index = next++; index < count; index = next++) await work(index);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}
