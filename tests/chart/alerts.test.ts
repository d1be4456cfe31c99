import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, test } from 'node:test';
import { parse } from 'yaml';
import { IGNORED_REASONS, REFUSALS } from '../../receiver/outcome.ts';
import { docsAt } from '../../shared/docs-site.ts';
import { listAlerts } from './support/list-alerts.ts';
import { chart } from './support/render.ts';

const alerts = await listAlerts({ webhookReceiver: { enabled: true } });

suite('the alerts of the chart', { concurrency: true }, () => {
  test("programs that aren't installed have no alerts", async () => {
    const names = async (values: object) => (await listAlerts(values)).map(({ alert }) => alert);
    const all = alerts.map(({ alert }) => alert);
    const ofReceiver = await names({}).then((without) => all.filter((alert) => !without.includes(alert)));
    assert.ok(ofReceiver.includes('SyncReceiverIsDown') && !ofReceiver.includes('SyncControllerHasNoLeader'));
    const ofAgents = await names({ metrics: { enabled: false }, webhookReceiver: { enabled: true } });
    assert.deepEqual(ofAgents, ['SyncAgentFails', 'SyncReloadsFail', 'SyncFilesDrift', 'SyncAgentOutOfTouch']);
  });

  test('the alerts use only reasons that the receiver has', () => {
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

  test('docs/reference/alerts.md has a runbook for each alert, and for no other', async () => {
    const text = await readFile(path.join(chart, '../docs/reference/alerts.md'), 'utf8');
    const runbooks = text.split(/^## /m).slice(1);
    // `runbook_url` leads to the headings.
    assert.deepEqual(
      runbooks.map((runbook) => runbook.split('\n', 1)[0]),
      alerts.map(({ alert }) => alert),
    );
    for (const runbook of runbooks) {
      const [alert = ''] = runbook.split('\n', 1);
      const parts = [...runbook.matchAll(/^\*\*(.+?)\.\*\*/gm)].map(([, part]) => part);
      assert.deepEqual(parts, ['Meaning', 'Impact', 'Diagnosis', 'What to do'], alert);
    }
  });

  test('each alert links to its runbook, by default the heading of the same name on the page of this version', async () => {
    const { appVersion } = parse(await readFile(path.join(chart, 'Chart.yaml'), 'utf8'));
    const page = docsAt(appVersion, 'reference/alerts.md');
    for (const { alert, annotations } of alerts) {
      // GitHub makes the anchor of a heading in lower case.
      assert.equal(annotations?.runbook_url, `${page}#${alert.toLowerCase()}`);
    }
    const none = await listAlerts({ 'prometheusRule.runbookBaseUrl': '' });
    for (const { annotations } of none) assert.equal(annotations?.runbook_url, undefined);
  });
});
