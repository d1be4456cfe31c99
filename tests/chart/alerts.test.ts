import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, test } from 'node:test';
import { IGNORED_REASONS, REFUSALS } from '../../receiver/routes/outcome.ts';
import { findBinaries } from '../../scripts/testbed/find-binaries.ts';
import { runCommand } from '../../scripts/testbed/run-command.ts';
import { makeTemporaryFolder } from '../../scripts/testbed/temporary-folder.ts';
import { ALERT_CASES, type AlertCase } from './support/alert-cases.ts';
import { listAlerts } from './support/list-alerts.ts';
import { chart } from './support/render.ts';

const alerts = await listAlerts({ webhookReceiver: { enabled: true } });

test('the alerts are accepted by promtool, those that were added last', async () => {
  const added = { alert: 'Mine', expr: 'vector(1)' };
  const all = await listAlerts({ webhookReceiver: { enabled: true } }, [added]);
  assert.deepEqual(all, [...alerts, added]);
  const output = await withRules(all, async ({ promtool, file }) => runCommand(promtool, ['check', 'rules', file]));
  assert.match(output, new RegExp(`SUCCESS: ${all.length} rules found`));
});

test('what is not installed sets no alert off', async () => {
  const names = async (values: object) => (await listAlerts(values)).map(({ alert }) => alert);
  const all = alerts.map(({ alert }) => alert);
  const ofReceiver = await names({}).then((without) => all.filter((alert) => !without.includes(alert)));
  assert.ok(ofReceiver.includes('SyncReceiverIsDown') && !ofReceiver.includes('SyncControllerHasNoLeader'));
  const ofAgents = await names({ metrics: { enabled: false }, webhookReceiver: { enabled: true } });
  assert.deepEqual(ofAgents, ['SyncAgentFails', 'SyncReloadsFail', 'SyncFilesDrift']);
});

test('the alerts name reasons that the receiver gives', () => {
  const known: string[] = [...IGNORED_REASONS, ...Object.keys(REFUSALS)];
  for (const { alert, expr } of alerts.filter(({ expr }) => expr.includes('sync_receiver_deliveries_total'))) {
    const reasons = [...expr.matchAll(/reason=~"([^"]+)"/g)].flatMap(([, pattern = '']) => pattern.split('|'));
    assert.notEqual(reasons.length, 0);
    for (const reason of reasons) assert.ok(known.includes(reason), `${alert}: ${reason}`);
  }
  const serverErrors = Object.keys(REFUSALS).filter(
    (reason) => REFUSALS[reason as keyof typeof REFUSALS].status >= 500,
  );
  const notStored = alerts.find(({ alert }) => alert === 'SyncDeliveriesNotStored');
  for (const reason of serverErrors) assert.ok(notStored?.expr.includes(reason), reason);
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

test('docs/monitoring.md has a runbook for each alert, and for no other', async () => {
  const text = await readFile(path.join(chart, '../docs/monitoring.md'), 'utf8');
  const headings = [...text.matchAll(/^### (Sync\w+)$/gm)].map(([, heading]) => heading);
  assert.deepEqual(
    headings,
    alerts.map(({ alert }) => alert),
  );
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
