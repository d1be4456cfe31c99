import { once } from 'node:events';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { connect } from 'node:tls';
import { parseArgs } from 'node:util';
import { buildBundles } from '../demo/build-bundles.ts';
import { type RunningProgram, startProgram } from '../demo/programs.ts';
import { readNodeFlags } from '../images/read-entry-point.ts';
import { type ControlPlane, startControlPlane } from '../testbed/control-plane.ts';
import { freePort } from '../testbed/free-port.ts';
import { startGuarded } from '../testbed/guarded-process.ts';
import { installCrds } from '../testbed/install-crds.ts';
import { step } from '../testbed/step.ts';
import { webhookConfiguration } from '../testbed/webhook-configuration.ts';
import { deepBody, gatewaySync, NAMESPACE, review } from './admission/reviews.ts';
import { readCpuSeconds, readMemory } from './process-usage.ts';
import { applyLoad, type LoadResult } from './receiver/load.ts';
import { printTable } from './table.ts';

const CONNECTIONS = 10;
const WARM_UP_SECONDS = 5;
const SHORT_SECONDS = 10;

/** Reviews of pods that are injected, over ten connections; `--seconds 300`, with the memory over that time. */
export async function run(options: string[]): Promise<void> {
  const { values } = parseArgs({ args: options, options: { seconds: { type: 'string', default: '300' } } });
  await buildBundles();
  const port = await freePort();
  const cluster = await step('Starting a control plane', () => startControlPlane());
  try {
    const controller = await step('Starting the controller', () => startController(cluster, port));
    await measure(controller, port, Number(values.seconds));
    await controller.stop();
  } finally {
    await cluster.stop();
  }
}

async function startController(cluster: ControlPlane, port: number): Promise<RunningProgram> {
  await installCrds(cluster);
  await cluster.kubectl('create', 'namespace', NAMESPACE);
  const items = [gatewaySync, webhookConfiguration({ name: NAMESPACE, namespace: NAMESPACE, port })];
  await cluster.kubectlWith({ apiVersion: 'v1', kind: 'List', items }, 'create', '--filename', '-');
  const environment = {
    KUBECONFIG: cluster.kubeconfig,
    POD_NAMESPACE: NAMESPACE,
    LEADER_ELECTION: 'false',
    METRICS_PORT: '0',
    WEBHOOK_PORT: String(port),
    WEBHOOK_SELF_SIGNED: NAMESPACE,
    DEFAULT_AGENT_IMAGE: 'agent:1',
  };
  return await startProgram('controller', environment, cluster.dir);
}

async function measure(controller: RunningProgram, port: number, seconds: number): Promise<void> {
  const asking = () => review('true');
  await load(controller, port, { seconds: WARM_UP_SECONDS, request: asking });
  const [injected, memory] = await Promise.all([
    load(controller, port, { seconds, request: asking }),
    sampleMemory(controller.pid, seconds),
  ]);
  const left = await load(controller, port, { seconds: SHORT_SECONDS, request: () => review('false') });
  const hostile = await load(controller, port, { seconds: SHORT_SECONDS, request: deepBody, connections: 4 });
  const after = await readMemory(controller.pid);
  printTable(['second', 'resident memory'], memory);
  printTable(
    ['what', 'per second', 'p50', 'p99', 'processor for one', 'answers', 'aim'],
    [
      ['pods that are injected', ...columnsOf(injected), '≥ 1000/s, p99 < 25 ms'],
      ['pods that do not ask', ...columnsOf(left), ''],
      ['a bare node:https', ...columnsOf(await measureFloor()), 'the floor'],
      ['two megabytes of brackets', ...columnsOf(hostile), 'refused'],
    ],
  );
  console.log(`Memory after all this: ${after.now.toFixed(0)} MB, at most ${after.peak.toFixed(0)} MB.`);
}

/** A server that only takes bodies in and answers, under the same load with the same flags of Node. */
async function measureFloor(): Promise<Measured> {
  const port = await freePort();
  const flags = await readNodeFlags('controller');
  const file = path.join(import.meta.dirname, 'admission/floor-server.ts');
  const server = startGuarded(process.execPath, [...flags, file, String(port)], { output: 'pipe' });
  await once(server.child.stdout as Readable, 'data');
  const request = () => review('true');
  await load(server, port, { seconds: SHORT_SECONDS, request });
  const measured = await load(server, port, { seconds: SHORT_SECONDS, request });
  await server.stop(0);
  return measured;
}

interface Load {
  seconds: number;
  request: () => Buffer;
  connections?: number;
}

type Measured = LoadResult & { cpuSeconds: number };

async function load({ pid }: { pid: number }, port: number, options: Load): Promise<Measured> {
  const before = await readCpuSeconds(pid);
  const result = await applyLoad({
    connect: () => connect({ host: '127.0.0.1', port, rejectUnauthorized: false }),
    ...{ connections: CONNECTIONS, ...options },
  });
  return { ...result, cpuSeconds: (await readCpuSeconds(pid)) - before };
}

/** Reads the memory twenty times in that time. */
async function sampleMemory(pid: number, seconds: number): Promise<[second: number, memory: string][]> {
  const samples: [number, string][] = [];
  const started = performance.now();
  for (let share = 1; share <= 20; share += 1) {
    const due = started + (seconds * 1000 * share) / 20;
    await new Promise((resolve) => setTimeout(resolve, due - performance.now()));
    samples.push([Math.round((due - started) / 1000), `${(await readMemory(pid)).now.toFixed(0)} MB`]);
  }
  return samples;
}

function columnsOf({ perSecond, p50, p99, statuses, cpuSeconds }: Measured): string[] {
  const answers = Object.entries(statuses).map(([status, count]) => `${count}× ${status}`);
  const count = Object.values(statuses).reduce((sum, value) => sum + value, 0);
  const each = (cpuSeconds * 1000) / count;
  return [
    perSecond.toFixed(0),
    `${p50.toFixed(1)} ms`,
    `${p99.toFixed(1)} ms`,
    `${each.toFixed(2)} ms`,
    answers.join(', '),
  ];
}
