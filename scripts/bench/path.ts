import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BRANCH, gatewaySyncObject, sampleFiles } from '../demo/objects.ts';
import { type Gateway, type Stage, startGateway, startStage } from '../demo/start-stage.ts';
import { postPush, watchDelivery } from '../demo/watch-delivery.ts';
import { step } from '../testbed/step.ts';
import { until } from '../testbed/until.ts';
import { readOptions } from './support/read-options.ts';
import { percentiles, printTable, type Row } from './support/table.ts';

/** Milliseconds since the POST of a delivery. */
interface Times {
  answered: number;
  resolved: number;
  onDisk: number;
}

/** Measures from the POST of a signed push to the file on disk, with all programs; `--changes 100 --files 200,20000 --publish files`. */
export async function run(args: string[]): Promise<void> {
  const { changes, files, publish } = readOptions(args, { changes: 100, files: '200,20000', publish: 'files' });
  const rows: Row[] = [];
  for (const count of files.split(',')) {
    rows.push(...(await measure(Number(count), { changes, publish })));
  }
  printTable(rows);
}

interface Options {
  changes: number;
  /** `publish` of the mapping. */
  publish: string;
}

async function measure(files: number, { changes, publish }: Options): Promise<Row[]> {
  const stage = await startStage({
    files: { ...sampleFiles, ...sharedFiles(files) },
    gatewaySync: (repo) => gatewaySyncObject(repo, '1h', publish),
  });
  const gateway = await startGateway(stage.cluster);
  const isSynced = () => stage.resource()?.status?.gateways?.synced === 1;
  await until('the first sync', isSynced, { timeoutMs: 120_000 });
  const times: Times[] = [];
  await step(`${changes} changes of one of ${files} files`, async () => {
    for (let number = 0; number < changes; number += 1) {
      times.push(await deliver(stage, gateway, number));
      await sleep(200);
    }
  });
  await gateway.agent.stop();
  await stage.stop();
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

async function deliver(stage: Stage, { data }: Gateway, number: number): Promise<Times> {
  const { repository, resource, webhookUrl, secret } = stage;
  const content = `hello ${number}\n`;
  const commit = await repository.commit({ files: { 'shared/greeting.txt': content } });
  const file = { path: path.join(data, 'config/greeting.txt'), content };
  const startedAt = performance.now();
  const [answeredAt, [resolved, onDisk]] = await Promise.all([
    postPush(webhookUrl, secret, BRANCH),
    watchDelivery({ resource, commit, file }, startedAt),
  ]);
  return {
    answered: answeredAt - startedAt,
    resolved: resolved?.atMs ?? Number.NaN,
    onDisk: onDisk?.atMs ?? Number.NaN,
  };
}
