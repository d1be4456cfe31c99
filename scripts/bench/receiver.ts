import { setTimeout as sleep } from 'node:timers/promises';
import autocannon from 'autocannon';
import { buildBundles } from '../demo/build-bundles.ts';
import { freePort } from '../testbed/free-port.ts';
import { type RunningProgram, startProgram } from '../testbed/programs.ts';
import { signDelivery } from '../testbed/sign-delivery.ts';
import { step } from '../testbed/step.ts';
import { readCpuSeconds, readMemory, readMetric } from './support/measure.ts';
import { readOptions } from './support/read-options.ts';
import { megabytes, printTable, type Row } from './support/table.ts';
import { createResource, inParallel, inWorld, NAMESPACE, SECRET, type World } from './support/world.ts';

const RESOURCES = 1_000;

const loads = {
  hot: { what: 'one hot resource', resources: 1, secret: SECRET },
  many: { what: '1,000 resources', resources: RESOURCES, secret: SECRET },
  refused: { what: 'wrong signatures', resources: 1, secret: 'another secret' },
};

/** These seconds don't count: the cost of a delivery falls until V8 has compiled the code that handles it. */
const WARM_UP_SECONDS = 10;

/**
 * Measures deliveries a second, response times, and memory of one receiver: for one resource, for 1,000, and
 * with wrong signatures; `--seconds 60 --only hot,many,refused`.
 */
export async function run(args: string[]): Promise<void> {
  const { seconds, only } = readOptions(args, { seconds: 60, only: 'hot,many,refused' });
  const names = only.split(',') as (keyof typeof loads)[];
  await buildBundles();
  await inWorld(async (world) => {
    await step(`Creating ${RESOURCES} resources`, () =>
      inParallel(RESOURCES, (index) => createResource(world, `r${index}`, 'https://git.example.test/site.git')),
    );
    const rows: Row[] = [['memory, idle', await measureIdle(world), '< 85 MB']];
    for (const name of names) rows.push(...(await measure(world, loads[name], seconds)));
    printTable(rows);
  });
}

async function measureIdle(world: World): Promise<string> {
  const { program } = await startReceiver(world);
  await sleep(5_000);
  const memory = megabytes(readMemory(program.pid));
  await program.stop();
  return memory;
}

async function measure(
  world: World,
  { what, ...load }: (typeof loads)[keyof typeof loads],
  seconds: number,
): Promise<Row[]> {
  const receiver = await startReceiver(world);
  const { pid } = receiver.program;
  await step(`${what}: warming up`, () => sendDeliveries(receiver.port, { ...load, seconds: WARM_UP_SECONDS }));
  const cpu = await readCpuSeconds(pid);
  const patches = await countPatches(receiver);
  const result = await step(what, () => sendDeliveries(receiver.port, { ...load, seconds }));
  const cpuSeconds = (await readCpuSeconds(pid)) - cpu;
  const newPatches = (await countPatches(receiver)) - patches;
  const memory = readMemory(pid);
  await receiver.program.stop();
  const { perSecond, p50, p99, statuses } = result;
  const isAccepted = load.secret === SECRET;
  const count = [...statuses.values()].reduce((sum, each) => sum + each, 0);
  const merged: Row = [`${what}: deliveries per patch`, ((statuses.get('202') ?? 0) / newPatches).toFixed(1)];
  return [
    [`${what}: ${isAccepted ? 'accepted' : 'rejected'} per second`, `${perSecond.toFixed(0)}/s`],
    [`${what}: time to the response, p50, p99`, `${p50.toFixed(0)}, ${p99.toFixed(0)} ms`],
    ...(isAccepted ? [merged] : []),
    [`${what}: CPU time per delivery`, `${((cpuSeconds / count) * 1e6).toFixed(0)} µs`],
    [`${what}: responses`, Array.from(statuses, ([status, each]) => `${each} × ${status}`).join(', ')],
    [`memory after ${WARM_UP_SECONDS + seconds} s of ${what} (peak)`, megabytes(memory), '< 120 MB'],
  ];
}

interface Receiver {
  program: RunningProgram;
  port: number;
}

/** Starts the receiver as its image does, without the limits per address: all load has one address. */
async function startReceiver({ cluster }: World): Promise<Receiver> {
  const port = await freePort();
  const environment = {
    KUBECONFIG: cluster.kubeconfig,
    RECEIVER_PORT: String(port),
    WEBHOOK_HMAC_SECRET: SECRET,
    MAX_CONNECTIONS_PER_ADDRESS: '0',
    MAX_AUTH_FAILURES_PER_MINUTE: '0',
  };
  return { program: await startProgram('receiver', { logs: cluster.dir, environment }), port };
}

const countPatches = ({ program: { metricsPort } }: Receiver): Promise<number> =>
  readMetric(metricsPort, 'sync_receiver_patch_duration_seconds_count', /code="2\d\d"/);

const CONNECTIONS = 50;
/** Number of requests of one connection, which repeats them. */
const REQUESTS = 200;
/** Size of a body, similar to a small release. */
const BODY_BYTES = 1024;

/** Deliveries for the resources `r0`, `r1`, …; if `secret` differs, their signatures are wrong. */
interface Load {
  seconds: number;
  resources: number;
  secret: string;
}

/**
 * Sends deliveries over 50 connections, each as soon as the connection's previous one has a response. Returns the responses
 * in the median second, their number by status, and percentiles of the times to a response (ms).
 */
async function sendDeliveries(port: number, { seconds, resources, secret }: Load) {
  let connections = 0;
  const {
    requests,
    latency,
    statusCodeStats = {},
  } = await autocannon({
    url: `http://127.0.0.1:${port}`,
    connections: CONNECTIONS,
    duration: seconds,
    // With one list for all connections, all would send the same delivery at the same time.
    setupClient: (client) => {
      const first = connections++;
      const numbers = Array.from({ length: REQUESTS }, (_, index) => first + index * CONNECTIONS);
      client.setRequests(numbers.map((number) => delivery(number, resources, secret)));
    },
  });
  return {
    perSecond: requests.p50,
    statuses: new Map(Object.entries(statusCodeStats).map(([status, { count = 0 }]) => [status, count])),
    p50: latency.p50,
    p99: latency.p99,
  };
}

/** Returns a signed delivery that requests its own ref. */
function delivery(number: number, resources: number, secret: string): autocannon.Request {
  const start = `{"ref":"v${number}","padding":"`;
  const body = `${start}${'x'.repeat(BODY_BYTES - start.length - 2)}"}`;
  const signature = signDelivery(body, secret);
  return {
    method: 'POST',
    path: `/webhook/${NAMESPACE}/r${number % resources}`,
    headers: { 'Content-Type': 'application/json', 'X-Hub-Signature-256': signature },
    body,
  };
}
