import { parseArgs } from 'node:util';
import { KubeConfig } from '@kubernetes/client-node';
import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { API_VERSION, GATEWAY_SYNC } from '../../shared/api/group.ts';
import { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { ApiCredentials } from '../../shared/io/kubernetes/credentials.ts';
import { Reflector } from '../../shared/io/kubernetes/reflector.ts';
import { corePath, gatewaySyncPath } from '../../shared/io/kubernetes/resource-path.ts';
import { createLogger } from '../../shared/log.ts';
import { buildBundles } from '../demo/build-bundles.ts';
import { startProgram } from '../demo/programs.ts';
import { type ControlPlane, startControlPlane } from '../testbed/control-plane.ts';
import { freePort } from '../testbed/free-port.ts';
import { type GitServer, startGitServer } from '../testbed/git-server.ts';
import { installCrds } from '../testbed/install-crds.ts';
import { step } from '../testbed/step.ts';
import { readCpuSeconds, readMemory } from './process-usage.ts';
import { printTable, quantile } from './table.ts';

/** Connections of the controller that reconcile, and of the direct patches that it is compared with. */
const CONNECTIONS = 8;
const NAMESPACE = 'bench';
const POLL_SECONDS = 30;

interface World {
  cluster: ControlPlane;
  server: GitServer;
  client: KubernetesClient;
  mirror: Reflector<GatewaySync, GatewaySync>;
}

/** Resources from cold, a quiet poll cycle, requests; `--resources 1000 --repositories 1 --pods 0`. */
export async function run(options: string[]): Promise<void> {
  const { values } = parseArgs({
    args: options,
    options: {
      resources: { type: 'string', default: '1000' },
      repositories: { type: 'string', default: '1' },
      pods: { type: 'string', default: '0' },
      requests: { type: 'string', default: '100' },
    },
  });
  const [resources, repositories, pods, requests] = [
    values.resources,
    values.repositories,
    values.pods,
    values.requests,
  ].map(Number) as [number, number, number, number];
  await buildBundles();
  const world = await prepare();
  try {
    await createResources(world, resources, repositories);
    await createPods(world.client, pods, resources);
    const floor = await directPatches(world, resources);
    await measure(world, { resources, repositories, pods, requests, floor });
  } finally {
    await Promise.all([world.server.stop(), world.cluster.stop()]);
  }
}

async function prepare(): Promise<World> {
  const cluster = await step('Starting a control plane', () => startControlPlane());
  await installCrds(cluster);
  await cluster.kubectl('create', 'namespace', NAMESPACE);
  const config = new KubeConfig();
  config.loadFromFile(cluster.kubeconfig);
  const client = new KubernetesClient(new ApiCredentials(config), { userAgent: 'bench', maxSockets: 64 });
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
  return { cluster, server: await startGitServer(), client, mirror };
}

async function createResources({ server, client }: World, resources: number, repositories: number): Promise<void> {
  const urls: string[] = [];
  for (let index = 0; index < repositories; index += 1) {
    const repository = await server.createRepository(`repository-${index}`);
    await repository.commit({ files: { 'config/a': '1' } });
    await repository.tag('v1');
    await repository.tag('v2');
    urls.push(repository.url);
  }
  await step(`Creating ${resources} resources`, () =>
    inParallel(resources, 32, (index) =>
      client.create(gatewaySyncPath(NAMESPACE), {
        apiVersion: API_VERSION,
        kind: GATEWAY_SYNC.kind,
        metadata: { name: `resource-${index}`, namespace: NAMESPACE },
        spec: {
          git: { repo: urls[index % urls.length], ref: 'main' },
          polling: { interval: `${POLL_SECONDS}s` },
          sync: { profiles: { default: { mappings: [{ source: 'config', destination: 'config' }] } } },
        },
      }),
    ),
  );
}

async function createPods(client: KubernetesClient, pods: number, resources: number): Promise<void> {
  if (pods === 0) return;
  await step(`Creating ${pods} pods`, () =>
    inParallel(pods, 32, (index) =>
      client.create(corePath('pods', NAMESPACE), {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: {
          name: `pod-${index}`,
          labels: { 'sync.io/agent': 'true' },
          annotations: { 'sync.io/inject': 'true', 'sync.io/cr-name': `resource-${index % resources}` },
        },
        spec: { containers: [{ name: 'gateway', image: 'gateway:1' }] },
      }),
    ),
  );
}

/** The floor: as many status patches, of the same size, over as many connections. */
async function directPatches({ client }: World, resources: number): Promise<number> {
  const started = performance.now();
  const message = 'x'.repeat(60);
  const conditions = ['A', 'B', 'C', 'D', 'E', 'F'].map((type) => ({
    type,
    status: 'Unknown',
    reason: 'Bench',
    message,
    lastTransitionTime: '2026-01-01T00:00:00Z',
  }));
  await inParallel(resources, CONNECTIONS, (index) =>
    client.mergePatch(`${gatewaySyncPath(NAMESPACE, `resource-${index}`)}/status`, {
      status: { observedGeneration: 0, conditions },
    }),
  );
  const seconds = (performance.now() - started) / 1000;
  await inParallel(resources, 32, (index) =>
    client.mergePatch(`${gatewaySyncPath(NAMESPACE, `resource-${index}`)}/status`, { status: null }),
  );
  return seconds;
}

interface Parameters {
  resources: number;
  repositories: number;
  pods: number;
  requests: number;
  floor: number;
}

async function measure(world: World, { resources, repositories, pods, requests, floor }: Parameters): Promise<void> {
  const { cluster, server, mirror } = world;
  server.requests.length = 0;
  const metricsPort = await freePort();
  const started = performance.now();
  const controller = await startProgram(
    'controller',
    {
      KUBECONFIG: cluster.kubeconfig,
      POD_NAMESPACE: NAMESPACE,
      LEADER_ELECTION: 'false',
      WEBHOOK_PORT: '0',
      METRICS_PORT: String(metricsPort),
      METRICS_SECURE: 'false',
      GIT_ALLOW_LOCAL: 'true',
      LOG_LEVEL: 'warn',
      AUTO_BIND_AGENT: 'false',
    },
    cluster.dir,
  );
  const isResolved = () => [...mirror.store.values()].every(({ status }) => status?.lastSyncCommit !== undefined);
  while (!isResolved()) await pause(20);
  const cold = (performance.now() - started) / 1000;
  const queries = server.requests.filter(({ command }) => command === 'ls-refs').length;
  const memoryCold = await readMemory(controller.pid);
  const quiet = await quietCycle(controller.pid, metricsPort);
  const latencies = await measureRequests(world, Math.min(requests, resources));
  const memory = await readMemory(controller.pid);
  await controller.stop();
  printTable(
    ['what', 'measured', 'aim'],
    [
      [`${resources} resources resolved from cold`, `${cold.toFixed(1)} s`, ''],
      [`${resources} direct status patches`, `${floor.toFixed(1)} s`, ''],
      ['ratio', (cold / floor).toFixed(2), '≤ 1.5'],
      ['git queries', queries, `${repositories}`],
      ['API writes in a quiet poll cycle', quiet.writes, '0'],
      ['processor in a quiet cycle', `${quiet.cpuPercent.toFixed(1)} %`, '< 2 % at 1,000'],
      [
        `memory after the start (peak), ${pods} pods`,
        `${memoryCold.now.toFixed(0)} (${memoryCold.peak.toFixed(0)}) MB`,
        '',
      ],
      ['memory at the end (peak)', `${memory.now.toFixed(0)} (${memory.peak.toFixed(0)}) MB`, '95 / 110 / 134 MB'],
      ['request to status, p50', `${quantile(latencies, 0.5).toFixed(0)} ms`, '< 60 ms'],
      ['request to status, p99', `${quantile(latencies, 0.99).toFixed(0)} ms`, '< 250 ms'],
    ],
  );
}

/** One poll cycle in which nothing happens. */
async function quietCycle(pid: number, metricsPort: number): Promise<{ writes: number; cpuPercent: number }> {
  const before = { writes: await readWrites(metricsPort), cpu: await readCpuSeconds(pid), at: performance.now() };
  await pause(POLL_SECONDS * 1000 * 1.2);
  const seconds = (performance.now() - before.at) / 1000;
  return {
    writes: (await readWrites(metricsPort)) - before.writes,
    cpuPercent: ((await readCpuSeconds(pid)) - before.cpu) * (100 / seconds),
  };
}

async function readWrites(port: number): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const lines = text
    .split('\n')
    .filter((line) => /^sync_controller_api_calls_total\{verb="(POST|PUT|PATCH|DELETE)"/.test(line));
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

/** From the annotation to its answer in status, one request after the other, each on another resource. */
async function measureRequests({ client, mirror }: World, requests: number): Promise<number[]> {
  const latencies: number[] = [];
  for (let index = 0; index < requests; index += 1) {
    const name = `resource-${index}`;
    const id = `bench-${index}`;
    const annotations = {
      'sync.io/requested-ref': 'v1',
      'sync.io/request-id': id,
      'sync.io/requested-at': new Date().toISOString(),
    };
    await client.mergePatch(gatewaySyncPath(NAMESPACE, name), { metadata: { annotations } });
    const started = performance.now();
    while (mirror.store.get(`${NAMESPACE}/${name}`)?.status?.lastRequest?.id !== id) await pause(1);
    latencies.push(performance.now() - started);
  }
  return latencies;
}

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

async function inParallel(count: number, lanes: number, work: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const lane = async () => {
    for (let index = next++; index < count; index = next++) await work(index);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}
