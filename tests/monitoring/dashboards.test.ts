import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { findBinaries } from '../../scripts/testbed/find-binaries.ts';
import { runCommand } from '../../scripts/testbed/run-command.ts';
import { interpolate, type PanelQuery, queriesOf, readDashboards } from '../chart/support/dashboards.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const dashboards = await readDashboards();
const stats = dashboards.flatMap(queriesOf).filter(({ panel }) => panel.type === 'stat');
const chosen = { namespace: 'team', name: 'site', pod: '.*' };
const seen = 'namespace="operator", job="controller", instance="a"';

/** Evaluates queries at the tenth minute, and fails if a result isn't the expected one. */
async function expectOf(t: TestContext, series: string[], expected: [query: PanelQuery, values: number[]][]) {
  const directory = await temporaryDirectory(t, 'queries-');
  const promql_expr_test = expected.map(([{ expr }, values]) => ({
    expr: interpolate(expr, chosen),
    eval_time: '10m',
    exp_samples: values.map((value) => ({ labels: '{}', value })),
  }));
  const input_series = series.map((each) => ({
    series: each.slice(0, each.lastIndexOf(' ')),
    values: `${each.split(' ').at(-1)}x20`,
  }));
  const file = path.join(directory, 'test.json');
  await writeFile(file, JSON.stringify({ tests: [{ interval: '1m', input_series, promql_expr_test }] }));
  await runCommand((await findBinaries('promtool')).promtool, ['test', 'rules', file]);
}

test('a number is shown only if it is known, and missing data is never zero', async (t) => {
  assert.ok(stats.length > 10);
  const spare = `sync_controller_leader{${seen}} 0`;
  const unled = `sync_controller_pods_missing_sidecar{${seen}} 0`;
  const isLeaders = ({ panel }: PanelQuery) => panel.title === 'Leaders';
  await t.test('a dashboard without scraped series has no data', (t) =>
    expectOf(
      t,
      [],
      stats.map((query) => [query, []]),
    ),
  );
  await t.test('a dashboard without a leader has no data except for the missing leader', (t) =>
    expectOf(
      t,
      [spare, unled],
      stats.map((query) => [query, isLeaders(query) ? [0] : []]),
    ),
  );
});

test('counts are zero if a leader reports zero', async (t) => {
  const counts = stats.filter(({ panel }) =>
    /^(GatewaySyncs|Not ready|Gateways|Pods without sidecar|Stopped rollouts|Waiting for approval)$/.test(panel.title),
  );
  assert.ok(counts.length >= 4);
  const leading = [`sync_controller_leader{${seen}} 1`, `sync_controller_pods_missing_sidecar{${seen}} 0`];
  await expectOf(
    t,
    leading,
    counts.map((query) => [query, [0]]),
  );
});
