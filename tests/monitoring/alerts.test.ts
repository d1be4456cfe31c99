import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, test } from 'node:test';
import { findBinaries } from '../../scripts/testbed/find-binaries.ts';
import { runCommand } from '../../scripts/testbed/run-command.ts';
import { makeTemporaryFolder } from '../../scripts/testbed/temporary-folder.ts';
import { listAlerts } from '../chart/support/list-alerts.ts';
import { ALERT_CASES, type AlertCase } from './support/alert-cases.ts';

const alerts = await listAlerts({ webhookReceiver: { enabled: true } });

test('promtool accepts the alerts', async () => {
  const output = await withRules(alerts, async ({ promtool, file }) => runCommand(promtool, ['check', 'rules', file]));
  assert.match(output, new RegExp(`SUCCESS: ${alerts.length} rules found`));
});

suite('promtool finds that', () => {
  test('every alert has cases, firing and not', () => {
    assert.deepEqual(Object.keys(ALERT_CASES).sort(), alerts.map(({ alert }) => alert).sort());
    for (const [alert, { firing, quiet }] of Object.entries(ALERT_CASES)) {
      assert.ok(firing.length > 0 && quiet.length > 0, alert);
    }
  });

  test('alerts fire when they should, and only then', async () => {
    const tests = Object.entries(ALERT_CASES).flatMap(([alert, cases]) => unitTestsOf(alert, cases));
    await withRules(alerts, async ({ promtool, file }) => {
      const units = `${file}.test.json`;
      await writeFile(units, JSON.stringify({ rule_files: [file], evaluation_interval: '1m', tests }));
      await runCommand(promtool, ['test', 'rules', units]);
    });
  });
});

/** Unit tests of promtool; https://prometheus.io/docs/prometheus/latest/configuration/unit_testing_rules/. */
function unitTestsOf(alert: string, { firing, quiet }: AlertCase): object[] {
  const rule = alerts.find((candidate) => candidate.alert === alert);
  const unit = (series: Record<string, string>, at: string, expected: object[]) => ({
    name: `${alert} at ${at} of ${JSON.stringify(series)}`,
    interval: '1m',
    input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
    alert_rule_test: [{ eval_time: at, alertname: alert, exp_alerts: expected }],
  });
  return [
    ...quiet.map(({ series, at }) => unit(series, at, [])),
    ...firing.map(({ series, at, labels, summary }) =>
      unit(series, at, [
        {
          exp_labels: { ...rule?.labels, ...labels },
          exp_annotations: { ...rule?.annotations, summary },
        },
      ]),
    ),
  ];
}

async function withRules<T>(
  rules: object[],
  use: (tools: { promtool: string; file: string }) => Promise<T>,
): Promise<T> {
  const folder = await makeTemporaryFolder('rules-');
  try {
    const file = path.join(folder.path, 'rules.json');
    // JSON is YAML.
    await writeFile(file, JSON.stringify({ groups: [{ name: 'all', rules }] }));
    const { promtool } = await findBinaries('promtool');
    return await use({ promtool, file });
  } finally {
    await folder.remove();
  }
}
