import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { gatewaySyncPath } from '../../shared/io/kubernetes/resource-path.ts';
import { buildBundles } from '../demo/build-bundles.ts';
import type { ControlPlane } from '../testbed/control-plane.ts';
import { step } from '../testbed/step.ts';
import { readMemory } from './process-usage.ts';
import { compareWays, type Row } from './receiver/compare-ways.ts';
import { CONNECTIONS, costOf, loadReceiver, type ReceiverLoad } from './receiver/cost-of.ts';
import { applyLoad, type LoadResult } from './receiver/load.ts';
import { directPatch } from './receiver/requests.ts';
import { connectionsTo, NAMESPACE, prepareCluster, type Server, startOther, startReceiver } from './receiver/world.ts';
import { printTable, quantile, spread } from './table.ts';

const RESOURCES = 1000;

interface Bench {
  cluster: ControlPlane;
  seconds: number;
  rounds: number;
  launches: number;
  rows: Row[];
}

/** The way of a delivery, one hot resource, many resources, wrong signatures, memory; `--seconds 10 --rounds 3 --launches 5 --memory-seconds 60`. */
export async function run(args: string[]): Promise<void> {
  const text = (fallback: string) => ({ type: 'string', default: fallback }) as const;
  const options = {
    seconds: text('10'),
    rounds: text('3'),
    launches: text('5'),
    'memory-seconds': text('60'),
    only: text('all'),
  };
  const { values } = parseArgs({ args, options });
  const [seconds, rounds, launches] = [Number(values.seconds), Number(values.rounds), Number(values.launches)];
  const wanted = (name: string) => values.only === 'all' || values.only.split(',').includes(name);
  await buildBundles();
  const rows = wanted('ways') ? await compareWays({ launches, seconds }) : [];
  if (['hot', 'many', 'cost', 'memory'].some(wanted)) {
    const cluster = await step('Starting a control plane with 1,000 resources', () => prepareCluster(RESOURCES));
    const bench: Bench = { cluster, seconds, rounds, launches, rows };
    try {
      if (wanted('hot')) await compareStored(bench, 'one hot resource', 1);
      if (wanted('many')) await compareStored(bench, '1,000 resources', RESOURCES);
      if (wanted('cost')) await compareCost(bench);
      if (wanted('memory')) await measureMemory(bench, Number(values['memory-seconds']));
    } finally {
      await cluster.stop();
    }
  }
  printTable(['what', 'measured', 'floor', 'ratio', 'aim'], rows);
}

async function compareStored(
  { cluster, seconds, rounds, rows }: Bench,
  what: string,
  resources: number,
): Promise<void> {
  const { token, connect: connectApi } = await connectionsTo(cluster);
  const receiver = await startReceiver(cluster);
  const isHot = resources === 1;
  const patches = { connections: CONNECTIONS, seconds, connect: connectApi };
  const pathOf = (n: number) => gatewaySyncPath(NAMESPACE, `r${n % resources}`);
  const load = { seconds, resources };
  const measure = async () => ({
    floor: await step(`${what}: direct patches`, () =>
      applyLoad({ ...patches, request: (n) => directPatch(pathOf(n), n, token) }),
    ),
    own: await step(`${what}: deliveries`, () => loadReceiver(receiver, load)),
  });
  // What a delivery costs falls until some ten thousand of them have told the compiler what to make fast.
  await step('warming up', () => loadReceiver(receiver, { ...load, seconds: 3 * seconds }));
  const before = await countPatches(receiver);
  const results: Awaited<ReturnType<typeof measure>>[] = [];
  for (let round = 0; round < rounds; round++) results.push(await measure());
  const sent = (await countPatches(receiver)) - before;
  const accepted = results.reduce((sum, { own }) => sum + (own.statuses['202'] ?? 0), 0);
  await receiver.process.stop();
  const { floor, own } = middle(results, ratioOf);
  rows.push(
    [`${what}: accepted a second`, perSecond(own), perSecond(floor), ratio(own, floor), isHot ? '≥ 20' : '≥ 0.85'],
    [
      `${what}: p50, p99`,
      `${own.p50.toFixed(0)}, ${own.p99.toFixed(0)} ms`,
      `${floor.p50.toFixed(0)}, ${floor.p99.toFixed(0)} ms`,
      '',
      isHot ? 'p99 < 150 ms' : '',
    ],
    [`${what}: accepted for one patch`, (accepted / sent).toFixed(1), '1', '', isHot ? '≥ 20' : ''],
    [
      `${what}: answers`,
      statuses(results.map((each) => each.own)),
      statuses(results.map((each) => each.floor)),
      '',
      isHot ? '202' : '202, 503',
    ],
  );
}

/**
 * Processor time that one request costs, next to the floor. Machines are shared, and two processes of the same code
 * differ, since each compiles its own way: so several are launched of each, in turns, and the middle one counts.
 */
async function compareCost({ cluster, seconds, launches, rows }: Bench): Promise<void> {
  const open = { MAX_AUTH_FAILURES_PER_MINUTE: '0', LOG_LEVEL: 'info' };
  const own = (environment = {}) => startReceiver(cluster, environment);
  const many = { seconds, resources: RESOURCES };
  const wrong = { seconds, resources: 1, secret: 'another secret' };
  for (const [what, load, start, aim] of [
    ['a wrong signature, 401', wrong, () => own(open), '≥ 0.9'],
    ['a wrong signature, 429', wrong, own, ''],
    ['1,000 resources, 202', many, own, '≥ 0.9'],
  ] as const) {
    const costs = { own: [] as number[], floor: [] as number[] };
    for (let launch = 1; launch <= launches; launch++) {
      await step(`${what}: launch ${launch} of ${launches}`, async () => {
        costs.own.push(await warmCostOf(await start(), load));
        costs.floor.push(await warmCostOf(await startOther(cluster, 'floor'), load));
      });
    }
    const [mine, other] = [quantile(costs.own, 0.5), quantile(costs.floor, 0.5)];
    rows.push([
      `${what}: processor time`,
      `${spread(costs.own)} µs`,
      `${spread(costs.floor)} µs`,
      (other / mine).toFixed(2),
      aim,
    ]);
  }
}

/** Microseconds of processor time that a request costs a server, which is stopped afterwards. */
async function warmCostOf(server: Server, load: ReceiverLoad): Promise<number> {
  await loadReceiver(server, load); // what a request costs falls until the compiler knows what to make fast
  const cost = await costOf(server, load);
  await server.process.stop();
  return cost;
}

async function measureMemory({ cluster, rows }: Bench, seconds: number): Promise<void> {
  if (seconds === 0) return;
  const idle = await startReceiver(cluster);
  await sleep(5000);
  rows.push(['memory, idle', megabytes(await readMemory(idle.process.pid)), '', '', '< 85 MB']);
  await idle.process.stop();
  for (const [what, resources, secret] of [
    ['one hot resource', 1, undefined],
    ['1,000 resources', RESOURCES, undefined],
    ['wrong signatures', 1, 'another secret'],
  ] as const) {
    const receiver = await startReceiver(cluster, { MAX_AUTH_FAILURES_PER_MINUTE: '0' });
    const minutes: string[] = [];
    const look = async () => minutes.push((await readMemory(receiver.process.pid)).now.toFixed(0));
    const timer = setInterval(look, 60_000);
    await step(`memory: ${what}`, () => loadReceiver(receiver, { seconds, resources, secret }));
    clearInterval(timer);
    rows.push([
      `memory after ${seconds} s of ${what} (peak)`,
      megabytes(await readMemory(receiver.process.pid)),
      '',
      minutes.length > 1 ? `after each minute: ${minutes.join(', ')}` : '',
      '< 120 MB',
    ]);
    await receiver.process.stop();
  }
}

async function countPatches({ metricsPort }: Server): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  const counts = [...text.matchAll(/^sync_receiver_patch_duration_seconds_count\{code="2\d\d"\} (\d+)$/gm)];
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}

/** The round whose ratio is in the middle: others use the same machine. */
function middle<T>(results: T[], ratioOf: (result: T) => number): T {
  const sorted = [...results].sort((a, b) => ratioOf(a) - ratioOf(b));
  return sorted[Math.floor((sorted.length - 1) / 2)] as T;
}

const perSecond = (result: LoadResult) => `${result.perSecond.toFixed(0)}/s`;
const ratioOf = ({ own, floor }: { own: LoadResult; floor: LoadResult }) => own.perSecond / floor.perSecond;
const ratio = (own: LoadResult, floor: LoadResult) => ratioOf({ own, floor }).toFixed(2);
const megabytes = ({ now, peak }: { now: number; peak: number }) => `${now.toFixed(0)} (${peak.toFixed(0)}) MB`;

function statuses(results: LoadResult[]): string {
  const names = new Set(results.flatMap((result) => Object.keys(result.statuses)));
  const count = (name: string) => results.reduce((sum, result) => sum + (result.statuses[name] ?? 0), 0);
  return [...names].map((name) => `${name}: ${count(name)}`).join(', ');
}
