import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { buildBundles } from '../demo/build-bundles.ts';
import { BRANCH, gatewaySyncObject, NAMESPACE, sampleFiles } from '../demo/objects.ts';
import { startGateway, startOperator } from '../demo/start-stage.ts';
import { GatewaySyncFollower, postPush, watchDelivery } from '../demo/watch-delivery.ts';
import { agentClusterRole } from '../testbed/agent-role.ts';
import { applyNamespace, applyObject } from '../testbed/apply-object.ts';
import type { GitRepository } from '../testbed/git-repository.ts';
import { step } from '../testbed/step.ts';
import { readOptions } from './support/read-options.ts';
import { percentiles, printTable, type Row } from './support/table.ts';
import { inWorld, SECRET, type World } from './support/world.ts';

/** Milliseconds since the POST of a delivery. */
interface Times {
  answered: number;
  resolved: number;
  onDisk: number;
}

/** Measures from the POST of a signed push to the file on disk, with all programs; `--changes 100 --files 200,20000 --publish files`. */
export async function run(args: string[]): Promise<void> {
  const { changes, files, publish } = readOptions(args, { changes: 100, files: '200,20000', publish: 'files' });
  await buildBundles();
  const rows: Row[] = [];
  for (const count of files.split(',')) {
    await inWorld(async (world) => {
      rows.push(...(await measure(world, Number(count), { changes, publish })));
    });
  }
  printTable(['from POST to …', 'p50, p99', 'aim'], rows);
}

interface Options {
  changes: number;
  /** `publish` of the mapping. */
  publish: string;
}

async function measure(world: World, files: number, { changes, publish }: Options): Promise<Row[]> {
  const { client, ending } = world;
  const cluster = { ...world.cluster, client };
  const repository = await world.server.createRepository('gateways');
  await repository.commit({ files: { ...sampleFiles, ...sharedFiles(files) } });
  await applyNamespace(cluster, NAMESPACE);
  await applyObject(cluster, agentClusterRole);
  const operator = await startOperator(cluster, SECRET);
  await applyObject(cluster, gatewaySyncObject(repository.url, '1h', publish));
  const { data, agent } = await startGateway(cluster);
  const follower = new GatewaySyncFollower();
  void follower.run(client, NAMESPACE, ending.signal);
  await follower.until('the first sync', ({ status }) => status?.gateways?.synced === 1, 120_000);
  const times: Times[] = [];
  await step(`${changes} changes of one of ${files} files`, async () => {
    for (let number = 0; number < changes; number += 1) {
      times.push(await deliver({ repository, follower, data, webhookUrl: operator.webhookUrl }, number));
      await sleep(200);
    }
  });
  await Promise.all([operator.stop(), agent.stop()]);
  const row = (what: string, time: keyof Times, aim?: string): Row => [
    `${files} files: ${what}`,
    percentiles(times.map((each) => each[time])),
    aim,
  ];
  return [
    row('the response 202', 'answered'),
    row('the commit in the status', 'resolved'),
    row("the file on the gateway's disk", 'onDisk', files > 1_000 ? '< 600, < 800 ms' : '< 300, < 800 ms'),
  ];
}

/** Returns small files in 97 directories below the one that the demo's GatewaySync maps. */
const sharedFiles = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`shared/files/${n % 97}/${n}.json`, `{"n": ${n}}\n`]));

interface Setup {
  repository: GitRepository;
  follower: GatewaySyncFollower;
  data: string;
  webhookUrl: string;
}

async function deliver({ repository, follower, data, webhookUrl }: Setup, number: number): Promise<Times> {
  const content = `hello ${number}\n`;
  const commit = await repository.commit({ files: { 'shared/greeting.txt': content } });
  const file = { path: path.join(data, 'config/greeting.txt'), content };
  const startedAt = performance.now();
  const [answeredAt, [resolved, onDisk]] = await Promise.all([
    postPush(webhookUrl, SECRET, BRANCH),
    watchDelivery(follower, { commit, file }, startedAt),
  ]);
  return {
    answered: answeredAt - startedAt,
    resolved: resolved?.atMs ?? Number.NaN,
    onDisk: onDisk?.atMs ?? Number.NaN,
  };
}
