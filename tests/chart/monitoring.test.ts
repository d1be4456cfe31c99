import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { createMetrics } from '../../controller/metrics.ts';
import { findBinaries } from '../../scripts/testbed/find-binaries.ts';
import { runCommand } from '../../scripts/testbed/run-command.ts';
import { pick, render } from './support/render.ts';

test('promtool accepts the alerting rules, and those that were added', async (t) => {
  const added = { alert: 'Mine', expr: 'vector(1)' };
  const rule = pick(await render({ prometheusRule: { enabled: true, additionalRules: [added] } }), 'PrometheusRule');
  const folder = await mkdtemp(path.join(tmpdir(), 'rules-'));
  t.after(() => rm(folder, { recursive: true }));
  const file = path.join(folder, 'rules.json');
  // JSON is YAML.
  await writeFile(file, JSON.stringify(rule.spec));
  const { promtool } = await findBinaries('promtool');
  assert.match(await runCommand(promtool, ['check', 'rules', file]), /SUCCESS: 5 rules found/);
});

test('the rules name metrics of the controller that exist', async () => {
  const rule = pick(await render({ prometheusRule: { enabled: true } }), 'PrometheusRule');
  const exported = (await createMetrics().registry.getMetricsAsJSON()).map(({ name }) => name);
  const named = new Set(JSON.stringify(rule.spec).match(/sync_controller_\w+/g));
  assert.notEqual(named.size, 0);
  for (const name of named) assert.ok(exported.includes(name), `${name} is no metric of the controller`);
});

test('the ServiceMonitor finds the metrics Service and its port', async () => {
  const objects = await render({ serviceMonitor: { enabled: true } });
  const monitor = pick(objects, 'ServiceMonitor');
  const service = pick(objects, 'Service', '-metrics');
  for (const [key, value] of Object.entries(monitor.spec.selector.matchLabels)) {
    assert.equal(service.metadata.labels?.[key], value, key);
  }
  assert.equal(monitor.spec.endpoints[0].port, service.spec.ports[0].name);
  const labelled = objects.filter(({ metadata }) => metadata.labels?.['sync.io/service'] === 'metrics');
  assert.equal(labelled.length, 1, 'the Service of the webhook is not scraped');
});

test('the NetworkPolicy leaves the webhook and the probes reachable, and does not touch the receiver', async () => {
  const objects = await render({ networkPolicy: { enabled: true }, webhookReceiver: { enabled: true } });
  const { podSelector, ingress } = pick(objects, 'NetworkPolicy').spec;
  const open = ingress.filter(({ from }: { from?: unknown }) => !from);
  assert.deepEqual(open, [{ ports: [{ port: 'webhook' }, { port: 'health' }] }]);
  assert.equal(podSelector.matchLabels['app.kubernetes.io/component'], 'controller');
});
