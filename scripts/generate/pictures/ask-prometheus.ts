import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findBinaries } from '../../testbed/find-binaries.ts';
import { freePort } from '../../testbed/free-port.ts';
import { startGuarded, tailOf } from '../../testbed/guarded-process.ts';
import { runCommand } from '../../testbed/run-command.ts';
import { makeTemporaryFolder } from '../../testbed/temporary-folder.ts';

/** A series with its values by time, in seconds since 1970. */
export interface Series {
  labels: Record<string, string>;
  points: [time: number, value: number][];
}

/** Gives the series of an expression in PromQL from one time to another, a value each `step` seconds. */
export type Ask = (expr: string, range: { start: number; end: number; step: number }) => Promise<Series[]>;

/** Fills a Prometheus server with samples in the OpenMetrics text format, for as long as somebody asks it. */
export async function withPrometheus<T>(samples: string, use: (ask: Ask) => Promise<T>): Promise<T> {
  const { prometheus, promtool } = await findBinaries('prometheus', 'promtool');
  const folder = await makeTemporaryFolder('pictures-');
  const [data, config, log] = ['data', 'prometheus.yml', 'log'].map((name) => path.join(folder.path, name)) as Paths;
  const address = `127.0.0.1:${await freePort()}`;
  await writeFile(config, samples);
  await runCommand(promtool, ['tsdb', 'create-blocks-from', 'openmetrics', config, data]);
  await writeFile(config, '{}');
  const server = startGuarded(
    prometheus,
    [
      `--config.file=${config}`,
      `--storage.tsdb.path=${data}`,
      '--storage.tsdb.retention.time=100y',
      // Samples in blocks have no marks where a series ends: without this it would last for five minutes more.
      '--query.lookback-delta=15s',
      `--web.listen-address=${address}`,
    ],
    { cwd: folder.path, output: { log } },
  );
  try {
    while (!(await fetch(`http://${address}/-/ready`).catch(() => undefined))?.ok) {
      if (server.hasExited()) throw new Error(`Prometheus ended: ${await tailOf(log)}`);
      await sleep(50);
    }
    return await use((expr, range) => ask(address, expr, range));
  } finally {
    await server.stop(0);
    await folder.remove();
  }
}

type Paths = [data: string, config: string, log: string];

async function ask(address: string, query: string, range: Parameters<Ask>[1]): Promise<Series[]> {
  const bounds = Object.entries(range).map(([name, seconds]) => [name, String(seconds)]);
  const form = new URLSearchParams({ query, ...Object.fromEntries(bounds) });
  const response = await fetch(`http://${address}/api/v1/query_range?${form}`);
  const { data, error } = (await response.json()) as { data: { result: Found[] }; error?: string };
  if (error) throw new Error(`${query}: ${error}`);
  return data.result.map(({ metric, values }) => ({
    labels: metric,
    points: values.map(([time, value]) => [time, Number(value)]),
  }));
}

interface Found {
  metric: Record<string, string>;
  values: [number, string][];
}
