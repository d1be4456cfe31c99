import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, test } from 'node:test';
import * as v from 'valibot';
import { parse } from 'yaml';
import { AgentMetrics } from '../../../agent/metrics.ts';
import { MemoryBudget } from '../../../agent/plan/memory-budget.ts';
import { gatewaySyncSpecSchema } from '../../../shared/api/gateway-sync.ts';
import { slow } from '../../support/depth.ts';
import { documentedMetrics, registeredMetrics } from '../../support/documented-metrics.ts';

const MIB = 1024 ** 2;
const DEFAULT_LIMIT_MIB = 256;
const page = await readFile(path.join(import.meta.dirname, '../../../docs/how-to/sizing.md'), 'utf8');

const cellsOf = (start: string): string[] =>
  (page.split('\n').find((line) => line.startsWith(`| ${start}`)) ?? '').split(' | ').slice(1);
const numbersOf = (start: string): number[] => cellsOf(start).map((cell) => Number(cell.replaceAll(/\D/g, '')));
/** Plans this number of files, in a container with a memory limit in MiB. */
function planFiles(files: number, limit: number): void {
  const manifest = { files: new Map(), directories: new Set<string>() };
  const budget = new MemoryBudget((limit / 2) * MIB, { manifest });
  for (let n = 0; n < files; n += 1) budget.take('x'.repeat(60), 'file');
}

suite('docs/how-to/sizing.md', () => {
  test('states the lowest limits that the agent accepts, in steps of 32 MiB', slow, () => {
    const files = numbersOf('files, with paths of 60 characters');
    assert.equal(files.length, 4);
    for (const [row, factor] of [
      ['`limits.memory`', 1],
      ['… if all move to other paths', 2],
    ] as const) {
      for (const [column, limit] of numbersOf(row).entries()) {
        const counted = factor * (files[column] ?? 0);
        planFiles(counted, limit);
        assert.throws(() => planFiles(counted, limit - 32), { code: 'sync.TooManyFiles' }, `${row}, ${counted} files`);
      }
    }
  });

  test('states how many files the default limit is enough for', () => {
    const files = Number(/(\d+),000 files \|/.exec(cellsOf('agent, in each').join(' | '))?.[1]) * 1000;
    planFiles(files, DEFAULT_LIMIT_MIB);
    assert.throws(() => planFiles(files * 1.1, DEFAULT_LIMIT_MIB), { code: 'sync.TooManyFiles' });
  });
});

test('docs/how-to/verify-gateways.md has an example that the API accepts unchanged', async () => {
  const text = await readFile(path.join(import.meta.dirname, '../../../docs/how-to/verify-gateways.md'), 'utf8');
  const [, example = ''] = /```yaml\n(.*?)```/s.exec(text) ?? [];
  const { gateway } = parse(example).spec;
  const parsed = v.parse(gatewaySyncSpecSchema.pipe[0].entries.gateway, gateway);
  assert.deepEqual(parsed?.verify, gateway.verify, 'no unknown field');
});

test('docs/reference/metrics.md lists exactly the metrics that the agent exports', async () => {
  assert.deepEqual(
    await documentedMetrics('sync_agent_'),
    registeredMetrics('sync_agent_', new AgentMetrics('1').registry),
  );
});

test('the agent exports each series before its first event, and counts the events', async () => {
  const metrics = new AgentMetrics('1.2.3');
  const valuesOf = async (names: string[]) => {
    const lines = (await metrics.registry.metrics()).split('\n').filter((line) => !line.startsWith('#'));
    const values = new Map(lines.map((line) => line.split(' ') as [string, string]));
    return names.map((name) => Number(values.get(`sync_agent_${name}`)));
  };
  const names = [
    ...['success', 'dry_run', 'error'].map((result) => `syncs_total{result="${result}"}`),
    ...['success', 'error'].map((result) => `reloads_total{result="${result}"}`),
    ...['drift_total', 'drifted_files', 'fetch_duration_seconds_sum', 'sync_duration_seconds_sum'],
  ];
  const lastSuccess = 'last_success_timestamp_seconds';
  assert.deepEqual(new Set(await valuesOf([...names, lastSuccess])), new Set([0]));
  const files = ['added', 'modified', 'deleted'].map((change) => `files_changed_total{change="${change}"}`);
  metrics.onSync('dry_run', 0.2);
  metrics.onInLine({ files: { added: 1, modified: 2, deleted: 3, unchanged: 4 }, repaired: 5, drifted: 6 });
  metrics.onReload('error');
  metrics.onFetch(200);
  assert.deepEqual(await valuesOf([...names, ...files]), [0, 1, 0, 0, 1, 5, 6, 200, 0.2, 1, 2, 3]);
  metrics.onPeriod(30);
  assert.deepEqual(await valuesOf(['info{version="1.2.3"}', 'sync_period_seconds']), [1, 30]);
  assert.ok(((await valuesOf([lastSuccess]))[0] ?? 0) > 0);
});
