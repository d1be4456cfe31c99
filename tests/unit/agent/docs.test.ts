import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, test } from 'node:test';
import * as v from 'valibot';
import { parse } from 'yaml';
import { ignition } from '../../../agent/gateway/presets/ignition.ts';
import { AgentMetrics } from '../../../agent/metrics.ts';
import { type Load, memoryProblem, NO_LOAD } from '../../../agent/plan/memory-need.ts';
import { gatewaySyncSpecSchema } from '../../../shared/api/gateway-sync.ts';
import { documentedMetrics, registeredMetrics } from '../../support/documented-metrics.ts';

const MIB = 1024 ** 2;
const DEFAULT_LIMIT_MIB = 256;
const page = await readFile(path.join(import.meta.dirname, '../../../docs/how-to/sizing.md'), 'utf8');

const load = (files: number, leaving = 0): Load => ({
  ...NO_LOAD,
  ...{ files, pathBytes: files * 60, leaving, leavingBytes: leaving * 60 },
});
const cellsOf = (start: string): string[] =>
  (page.split('\n').find((line) => line.startsWith(`| ${start}`)) ?? '').split(' | ').slice(1);
const numbersOf = (start: string): number[] => cellsOf(start).map((cell) => Number(cell.replaceAll(/\D/g, '')));
/** The limit that the agent would ask for, in MiB; it never asks for less than 128. */
const limitFor = (needed: Load): number =>
  Number(/limits\.memory to (\d+)Mi/.exec(memoryProblem(needed, 16 * MIB) ?? '')?.[1]);

suite('docs/how-to/sizing.md', () => {
  test('has the limits that the agent would ask for', () => {
    const files = numbersOf('files, with paths of 60 bytes');
    assert.equal(files.length, 4);
    assert.deepEqual(
      numbersOf('`limits.memory`'),
      files.map((count) => limitFor(load(count))),
    );
    assert.deepEqual(
      numbersOf('… if all move to other paths'),
      files.map((count) => limitFor(load(count, count))),
    );
  });

  test('says how many files the default limit is enough for', () => {
    const files = Number(/(\d+),000 files \|/.exec(cellsOf('agent, in each').join(' | '))?.[1]) * 1000;
    assert.equal(memoryProblem(load(files), (DEFAULT_LIMIT_MIB / 2) * MIB), undefined);
    assert.notEqual(memoryProblem(load(files * 1.05), (DEFAULT_LIMIT_MIB / 2) * MIB), undefined);
  });

  test('shows the message of an agent without enough memory', () => {
    assert.ok(page.includes(memoryProblem(load(400_000), 128 * MIB) ?? 'none'));
  });
});

suite('docs/how-to/verify-gateways.md', async () => {
  const text = await readFile(path.join(import.meta.dirname, '../../../docs/how-to/verify-gateways.md'), 'utf8');

  test('has an example that the API takes as it is', () => {
    const [, example = ''] = /```yaml\n(.*?)```/s.exec(text) ?? [];
    const { gateway } = parse(example).spec;
    const parsed = v.parse(gatewaySyncSpecSchema.pipe[0].entries.gateway, gateway);
    assert.deepEqual(parsed?.verify, gateway.verify, 'no field that the API does not know');
  });

  test('names the calls of the preset', () => {
    for (const { method, path } of ignition.checks) assert.ok(text.includes(`${method} ${path}`));
  });
});

test('docs/reference/metrics.md has every metric of the agent as it is, and no other', async () => {
  assert.deepEqual(
    await documentedMetrics('sync_agent_'),
    registeredMetrics('sync_agent_', new AgentMetrics('1').registry),
  );
});

test('the series of the agent are there before the first event, and count what happened', async () => {
  const metrics = new AgentMetrics('1.2.3');
  const series = async () => new Set((await metrics.registry.metrics()).split('\n'));
  const before = await series();
  for (const line of [
    'sync_agent_info{version="1.2.3"} 1',
    ...['success', 'dry_run', 'error'].map((result) => `sync_agent_syncs_total{result="${result}"} 0`),
    ...['success', 'error'].map((result) => `sync_agent_reloads_total{result="${result}"} 0`),
    'sync_agent_last_success_timestamp_seconds 0',
  ])
    assert.ok(before.has(line), line);
  metrics.onSync('dry_run', 0.2);
  metrics.onInLine({ files: { added: 1, modified: 2, deleted: 3, unchanged: 4 }, repaired: 5, drifted: 6 });
  metrics.onPeriod(30);
  metrics.onReload('error');
  metrics.onFetch(200);
  const after = await series();
  for (const line of [
    'sync_agent_syncs_total{result="dry_run"} 1',
    'sync_agent_sync_duration_seconds_sum 0.2',
    'sync_agent_files_changed_total{change="added"} 1',
    'sync_agent_files_changed_total{change="modified"} 2',
    'sync_agent_files_changed_total{change="deleted"} 3',
    'sync_agent_drift_total 5',
    'sync_agent_drifted_files 6',
    'sync_agent_sync_period_seconds 30',
    'sync_agent_reloads_total{result="error"} 1',
    'sync_agent_fetch_duration_seconds_sum 200',
  ])
    assert.ok(after.has(line), line);
  assert.ok(!after.has('sync_agent_last_success_timestamp_seconds 0'));
});
