import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, test } from 'node:test';
import { findBinaries } from '../../scripts/testbed/find-binaries.ts';
import { runCommand } from '../../scripts/testbed/run-command.ts';
import { listAlerts } from '../chart/support/list-alerts.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { ALERT_CASES, type AlertCase } from './support/alert-cases.ts';

const alerts = await listAlerts({ webhookReceiver: { enabled: true } });

/** Reads from the alert on the certificate how many seconds before its end it fires, and after how long. */
async function certificateAlert(certManager: object): Promise<{ seconds: number; after: string | undefined }> {
  const found = (await listAlerts({ certManager })).find(({ alert }) => alert === 'SyncWebhookCertificateExpires');
  return { seconds: Number(found?.expr.split(' < ')[1]), after: found?.for };
}

test('the certificate alert follows the lifetime of the certificate', async () => {
  const week = { seconds: 7 * 86_400, after: '900s' };
  assert.deepEqual(await certificateAlert({}), week);
  assert.deepEqual(await certificateAlert({ enabled: false }), week);
  assert.deepEqual(await certificateAlert({ enabled: false, duration: '1h' }), week, 'its own is for 90 days');
  // cert-manager renews at two thirds of the lifetime.
  assert.deepEqual(await certificateAlert({ duration: '24h' }), { seconds: 4 * 3600, after: '900s' });
  assert.deepEqual(await certificateAlert({ duration: '1h' }), { seconds: 600, after: '150s' });
  assert.deepEqual(await certificateAlert({ duration: '720h', renewBefore: '48h30m' }), {
    seconds: 48.5 * 1800,
    after: '900s',
  });
});

suite('the alerts of the chart', () => {
  test("have cases in which they fire, and others in which they don't", () => {
    assert.deepEqual(Object.keys(ALERT_CASES).sort(), alerts.map(({ alert }) => alert).sort());
    for (const [alert, { firing, quiet }] of Object.entries(ALERT_CASES)) {
      assert.ok(firing.length > 0 && quiet.length > 0, alert);
    }
  });

  test('fire in exactly the cases in which they should', async (t) => {
    const tests = Object.entries(ALERT_CASES).flatMap(([alert, cases]) => unitTestsOf(alert, cases));
    const directory = await temporaryDirectory(t, 'rules-');
    const rules = path.join(directory, 'rules.json');
    const units = path.join(directory, 'units.json');
    // JSON is YAML.
    await writeFile(rules, JSON.stringify({ groups: [{ name: 'all', rules: alerts }] }));
    await writeFile(units, JSON.stringify({ rule_files: [rules], evaluation_interval: '1m', tests }));
    await runCommand((await findBinaries('promtool')).promtool, ['test', 'rules', units]);
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
    ...firing.map(({ series, at, labels = {}, value = '' }) => {
      const summary = rule?.annotations?.summary
        ?.replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_, label: string) => labels[label] ?? '')
        .replace(/\{\{ \$value.*?\}\}/, value);
      const expected = {
        exp_labels: { ...rule?.labels, ...labels },
        exp_annotations: { ...rule?.annotations, summary },
      };
      return unit(series, at, [expected]);
    }),
  ];
}
