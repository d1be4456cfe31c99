import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { findBinaries } from '../../../scripts/testbed/find-binaries.ts';
import { freePort } from '../../../scripts/testbed/free-port.ts';
import { startGuarded } from '../../../scripts/testbed/guarded-process.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';

type Labels = Record<string, string>;

/** A series that a query gave, with its value now. */
export interface Sample {
  metric: Labels;
  value: number;
}

/** A node of the syntax tree of a query, as the server describes it. */
export interface SyntaxNode {
  type: string;
  [key: string]: unknown;
}

/** A running Prometheus server. */
export interface Prometheus {
  query(expr: string): Promise<Sample[]>;
  parse(expr: string): Promise<SyntaxNode>;
  /** The labels of all series of a metric. */
  series(name: string): Promise<Labels[]>;
  /** Names of all metrics that the targets describe. */
  metricNames(): Promise<string[]>;
}

/** Starts a Prometheus server that scrapes every two seconds; resolves when it has reached all targets. It ends with the test. */
export async function startPrometheus(t: TestContext, scrapeConfigs: object[]): Promise<Prometheus> {
  const directory = await temporaryDirectory(t, 'prometheus-');
  const config = path.join(directory, 'prometheus.json');
  const global = { scrape_interval: '2s', scrape_timeout: '2s' };
  // JSON is YAML.
  await writeFile(config, JSON.stringify({ global, scrape_configs: scrapeConfigs }), { mode: 0o600 });
  const { prometheus } = await findBinaries('prometheus');
  const address = `127.0.0.1:${await freePort()}`;
  const server = startGuarded(
    prometheus,
    [`--config.file=${config}`, `--storage.tsdb.path=${directory}/data`, `--web.listen-address=${address}`],
    { cwd: directory, output: { log: path.join(directory, 'prometheus.log') } },
  );
  t.after(() => server.stop(0));
  const call = <T>(endpoint: string, query: Labels = {}) => ask<T>(`http://${address}/api/v1/${endpoint}`, query);
  await until(() => call<Targets>('targets'), {
    describe: 'all targets to be scraped',
    accept: ({ activeTargets }) =>
      activeTargets.length === scrapeConfigs.length && activeTargets.every(({ health }) => health === 'up'),
  });
  return {
    query: async (expr) => {
      const { result } = await call<{ result: { metric: Labels; value: [number, string] }[] }>('query', {
        query: expr,
      });
      return result.map(({ metric, value }) => ({ metric, value: Number(value[1]) }));
    },
    parse: (expr) => call('parse_query', { query: expr }),
    series: (name) => call('series', { 'match[]': name }),
    metricNames: async () => Object.keys(await call<object>('metadata')),
  };
}

interface Targets {
  activeTargets: { health: string; lastError: string }[];
}

async function ask<T>(url: string, query: Labels): Promise<T> {
  const response = await fetch(`${url}?${new URLSearchParams(query)}`);
  const { data, error } = (await response.json()) as { data: T; error?: string };
  if (error) throw new Error(`${query.query ?? url}: ${error}`);
  return data;
}
