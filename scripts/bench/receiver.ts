import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { gatewaySyncPath } from '../../shared/io/kubernetes/resource-path.ts';
import { buildBundles } from '../demo/build-bundles.ts';
import type { ControlPlane } from '../testbed/control-plane.ts';
import { step } from '../testbed/step.ts';
import { readMemory } from './process-usage.ts';
import { applyLoad, type LoadResult } from './receiver/load.ts';
import { delivery, directPatch } from './receiver/requests.ts';
import { connectionsTo, NAMESPACE, prepareCluster, type Server, startFloor, startReceiver } from './receiver/world.ts';
import { printTable } from './table.ts';

const CONNECTIONS = 50;
const RESOURCES = 1000;
const FLOOR = 'the h3 floor';

type Row = [what: string, measured: string, floor: string, ratio: string, aim: string];

interface Bench {
  cluster: ControlPlane;
  seconds: number;
  rounds: number;
  rows: Row[];
}

/** One hot resource, many resources, wrong signatures, memory; `--seconds 10 --rounds 3 --memory-seconds 60`. */
export async function run(args: string[]): Promise<void> {
  const text = (fallback: string) => ({ type: 'string', default: fallback }) as const;
  const options = { seconds: text('10'), rounds: text('3'), 'memory-seconds': text('60'), only: text('all') };
  const { values } = parseArgs({ args, options });
  const [seconds, rounds, memorySeconds] = [values.seconds, values.rounds, values['memory-seconds']].map(Number) as [
    number,
    number,
    number,
  ];
  const wanted = (name: string) => values.only === 'all' || values.only.split(',').includes(name);
  await buildBundles();
  const cluster = await step('Starting a control plane with 1,000 resources', () => prepareCluster(RESOURCES));
  const bench: Bench = { cluster, seconds, rounds, rows: [] };
  try {
    if (wanted('hot')) await compareStored(bench, 'one hot resource', 1);
    if (wanted('many')) await compareStored(bench, '1,000 resources', RESOURCES);
    if (wanted('refused')) await compareRefused(bench);
    if (wanted('memory')) await measureMemory(bench, memorySeconds);
  } finally {
    await cluster.stop();
  }
  printTable(['what', 'measured', 'floor', 'ratio', 'aim'], bench.rows);
}

async function compareStored(
  { cluster, seconds, rounds, rows }: Bench,
  what: string,
  resources: number,
): Promise<void> {
  const { token, connect: connectApi } = await connectionsTo(cluster);
  const receiver = await startReceiver(cluster);
  const isHot = resources === 1;
  // Without merging, patches of one resource do nothing but run into each other.
  const bare = isHot ? undefined : await startFloor(cluster);
  const patches = { connections: CONNECTIONS, seconds, connect: connectApi };
  const pathOf = (n: number) => gatewaySyncPath(NAMESPACE, `r${n % resources}`);
  const load = { seconds, resources };
  const measure = async () => ({
    floor: await step(`${what}: direct patches`, () =>
      applyLoad({ ...patches, request: (n) => directPatch(pathOf(n), n, token) }),
    ),
    own: await step(`${what}: deliveries`, () => loadReceiver(receiver, load)),
    bare: bare && (await step(`${what}: the same to the h3 floor`, () => loadReceiver(bare, load))),
  });
  // What a delivery costs falls until some ten thousand of them have told the compiler what to make fast.
  for (const server of [receiver, bare]) {
    if (server) await step('warming up', () => loadReceiver(server, { ...load, seconds: 3 * seconds }));
  }
  const before = await countPatches(receiver);
  const results: Awaited<ReturnType<typeof measure>>[] = [];
  for (let round = 0; round < rounds; round++) results.push(await measure());
  const sent = (await countPatches(receiver)) - before;
  const accepted = results.reduce((sum, { own }) => sum + (own.statuses['202'] ?? 0), 0);
  await receiver.process.stop();
  await bare?.process.stop();
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
  const ofBare = results.flatMap(({ own, bare }) => (bare ? [{ own, floor: bare }] : []));
  if (ofBare.length === 0) return;
  const chosen = middle(ofBare, ratioOf);
  rows.push([
    `${what}: 202, against the h3 floor`,
    perSecond(chosen.own),
    perSecond(chosen.floor),
    ratio(chosen.own, chosen.floor),
    '≥ 0.9',
  ]);
}

async function compareRefused({ cluster, seconds, rounds, rows }: Bench): Promise<void> {
  const load = (server: Server) => {
    // Bytes are made once: what is measured is the server.
    const request = delivery(`/webhook/${NAMESPACE}/r0`, 1, 'another secret');
    return applyLoad({
      connect: () => connect(server.port, '127.0.0.1'),
      connections: CONNECTIONS,
      seconds: seconds / 3,
      request: () => request,
    });
  };
  const servers = {
    'wrong signatures, answered 401': await startReceiver(cluster, {
      MAX_AUTH_FAILURES_PER_MINUTE: '0',
      LOG_LEVEL: 'info',
    }),
    'wrong signatures, limited to 429': await startReceiver(cluster),
    [FLOOR]: await startFloor(cluster),
  };
  const all = Object.entries(servers);
  await step('warming up', async () => {
    for (const [, server] of all) await load(server);
  });
  const results: Record<string, LoadResult>[] = [];
  // Many short rounds: what else runs on the machine then hits all alike.
  for (let round = 0; round < 3 * rounds; round++) {
    const result: Record<string, LoadResult> = {};
    for (const [name, server] of all) result[name] = await step(name, () => load(server));
    results.push(result);
  }
  for (const server of Object.values(servers)) await server.process.stop();
  const rate = (result: Record<string, LoadResult>, name: string) => result[name]?.perSecond ?? Number.NaN;
  for (const [name, aim] of [
    ['wrong signatures, answered 401', '≥ 0.9'],
    ['wrong signatures, limited to 429', ''],
  ] as const) {
    const chosen = middle(results, (result) => rate(result, name) / rate(result, FLOOR));
    const [own, floor] = [rate(chosen, name), rate(chosen, FLOOR)];
    const figures = [`${own.toFixed(0)}/s`, `${floor.toFixed(0)}/s`, (own / floor).toFixed(2)] as const;
    rows.push([`${name}, against the h3 floor`, ...figures, aim]);
  }
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

interface ReceiverLoad {
  seconds: number;
  resources: number;
  secret?: string | undefined;
}

function loadReceiver({ port }: Server, { seconds, resources, secret }: ReceiverLoad): Promise<LoadResult> {
  return applyLoad({
    connect: () => connect(port, '127.0.0.1'),
    connections: CONNECTIONS,
    seconds,
    request: (n) => delivery(`/webhook/${NAMESPACE}/r${n % resources}`, n, secret),
  });
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
