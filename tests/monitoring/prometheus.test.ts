import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { interpolate, type PanelQuery, queriesOf, readDashboards } from '../chart/support/dashboards.ts';
import { type Alert, listAlerts } from '../chart/support/list-alerts.ts';
import { pick, type Rendered, render } from '../chart/support/render.ts';
import { apply, kubectl } from '../support/cluster.ts';
import { gatewayPod } from '../support/gateway-pods.ts';
import { applyGatewaySync, untilGatewaySync } from '../support/gateway-syncs.ts';
import { startPath, type WholePath } from '../support/start-path.ts';
import { until } from '../support/until.ts';
import { type Prometheus, type Sample, type SyntaxNode, startPrometheus } from './support/start-prometheus.ts';

/** It waits for a drift to be repaired, among others; a busy machine takes its time. */
const limit = { timeout: 600_000 };

/** A metric without series until a watch has ended, which takes minutes. */
const SELDOM = 'sync_controller_watch_restarts_total';

/** Excludes alerts on the number of ready pods, which query kube-state-metrics; it isn't installed here. */
const isOfOurs = ({ expr }: Alert) => !expr.includes('kube_deployment_');

test('dashboards and alerts work with a Prometheus server that scrapes a real installation', limit, async (t) => {
  const world = await startPath(t, { 'config/a.txt': 'first' });
  const { namespace, name } = world.address;
  const prometheus = await scrape(t, world);
  await makeNews(world, prometheus);
  const dashboards = await readDashboards();
  const alerts = await listAlerts({ webhookReceiver: { enabled: true } });
  // Longer than the test, to include events from its beginning.
  const chosen = { namespace, name, pod: '.*', __rate_interval: '10m', __range: '10m' };

  for (const dashboard of dashboards) {
    await t.test(`each query of ${dashboard.file} returns data with the labels that its panel shows`, async () => {
      for (const query of queriesOf(dashboard)) {
        if (query.expr.includes(SELDOM)) continue;
        await until(() => prometheus.query(interpolate(query.expr, chosen)), {
          describe: `data for ${query.where}: ${query.expr}`,
          accept: (samples) => samples.some(({ value }) => Number.isFinite(value)) && hasLabels(query, samples),
        });
      }
    });

    await t.test(`each variable of ${dashboard.file} has values to choose from`, async () => {
      for (const { name: variable, definition } of dashboard.templating.list) {
        if (!definition) continue;
        const [, series = '', label = ''] = /^label_values\((.+), (\w+)\)$/.exec(definition) ?? [];
        assert.equal(label, variable);
        const values = (await prometheus.series(interpolate(series, chosen))).map((labels) => labels[label]);
        assert.ok(values.length > 0 && values.every(Boolean), variable);
      }
    });
  }

  await t.test('queries and alerts use only metrics and labels that the programs export', async () => {
    const named = [
      ...dashboards.flatMap(queriesOf).map(({ where, expr }) => ({ where, expr: interpolate(expr, chosen) })),
      ...alerts.filter(isOfOurs).map(({ alert, expr }) => ({ where: alert, expr })),
    ];
    for (const { where, expr } of named) await checkAssumptions(prometheus, where, expr);
  });

  await t.test('only alerts with a cause are pending', async () => {
    const caused = ['SyncNotReady', 'SyncGatewaysNotSynced', 'SyncFilesDrift'];
    const uncaused = [
      'SyncControllerHasNoLeader',
      'SyncWebhookCertificateExpires',
      'SyncAdmissionFails',
      'SyncControllerIsNotScraped',
      'SyncReceiverIsNotScraped',
      'SyncAgentOutOfTouch',
      'SyncReceiverIsOpen',
      'SyncDeliveriesNotStored',
      'SyncReloadsFail',
    ];
    // A scrape that takes more than 2 s fails, and its target then counts as not scraped until the next one.
    await until(() => listPending(prometheus, alerts), {
      describe: `${caused.join(', ')} among the alerts, and none of ${uncaused.join(', ')}`,
      accept: (names) =>
        caused.every((alert) => names.includes(alert)) && !uncaused.some((alert) => names.includes(alert)),
    });
  });
});

/** Starts Prometheus with the monitors of the chart, as if the release were in the namespace `operator`. */
async function scrape(t: TestContext, { address: { namespace }, metricsPorts }: WholePath): Promise<Prometheus> {
  const values = {
    serviceMonitor: { enabled: true, namespace, tokenSecret: { create: true } },
    podMonitor: { enabled: true },
    webhookReceiver: { enabled: true },
  };
  const objects = await render({ fullnameOverride: namespace, ...values });
  const token = await readToken(t, namespace, objects);
  const scraped = (port: number, pod: string, where = 'operator') => ({
    address: `127.0.0.1:${port}`,
    namespace: where,
    pod,
  });
  const { controller, receiver, agent } = metricsPorts;
  const annotations = JSON.parse(
    await kubectl('get', 'pod', 'gateway-0', '-n', namespace, '--output=jsonpath={.metadata.annotations}'),
  );
  return await startPrometheus(t, [
    scrapeConfigOf(pick(objects, 'ServiceMonitor', namespace), scraped(controller, 'controller-0'), token),
    scrapeConfigOf(pick(objects, 'ServiceMonitor', '-receiver'), scraped(receiver, 'receiver-0'), token),
    scrapeConfigOf(pick(objects, 'PodMonitor'), { ...scraped(agent, 'gateway-0', namespace), annotations }),
  ]);
}

/** Installs the chart's account that can read the controller's metrics, and returns its token. */
async function readToken(t: TestContext, namespace: string, objects: Rendered[]): Promise<string> {
  const name = `${namespace}-metrics-reader`;
  await apply(objects.filter(({ metadata }) => metadata.name === name));
  t.after(() => kubectl('delete', `clusterrole/${name}`, `clusterrolebinding/${name}`));
  const token = await until(
    () => kubectl('get', `secret/${name}`, '--namespace', namespace, '--output=jsonpath={.data.token}'),
    { describe: 'a token in the Secret', accept: Boolean },
  );
  return Buffer.from(token, 'base64').toString();
}

/** Causes events that each of the programs counts, after Prometheus has started to scrape. */
async function makeNews(world: WholePath, prometheus: Prometheus): Promise<void> {
  const { address, repository, data } = world;
  const file = path.join(data, 'config/a.txt');
  const untilContent = (content: string) =>
    until(() => readFile(file, 'utf8'), { describe: content, accept: (text) => text === content });
  await untilContent('first');

  await repository.commit({ files: { 'config/a.txt': 'second' } });
  assert.equal(await world.post('push', { ref: 'refs/heads/main' }), 202);
  await untilContent('second');

  await deliver(world);
  // A series that begins with its first event shows an increase with the second one.
  await until(() => prometheus.query('sync_receiver_deliveries_total'), {
    describe: 'the deliveries in Prometheus',
    accept: (samples) => samples.length >= 3,
  });
  await deliver(world);

  const profiles = { default: { mappings: [{ source: 'config', destination: 'config' }] } };
  const sync = { defaults: { syncPeriod: 5 }, profiles };
  await applyGatewaySync(address, { repo: repository.url }, { rollout: {}, sync });
  // A sync that is superseded doesn't count its repairs.
  await untilGatewaySync(address, 'a rollout that is complete', ({ metadata, status }) => {
    return status?.rollout?.phase === 'Complete' && status.observedGeneration === metadata?.generation;
  });
  await writeFile(file, 'drifted');
  await untilContent('second');
  // A preview would show that the edit changes no file, so that it needs no window.
  const rollout = { windows: [{ kind: 'Deny' }], previewTimeout: '0s' };
  const frozen = { rollout, sync: { ...sync, defaults: { syncPeriod: 6 } } };
  await applyGatewaySync(address, { repo: repository.url }, frozen);
  await untilGatewaySync(address, 'a rollout that waits', ({ status }) => status?.rollout?.waitsFor === 'Window');

  await apply(gatewayPod(address.namespace, 'gateway-1', { 'sync.io/cr-name': address.name }));
  const broken = { ...address, name: 'broken' };
  await applyGatewaySync(broken, { repo: `${repository.url}-missing` });
  await untilGatewaySync(broken, 'an error', ({ status }) => status?.refResolutionStatus === 'Error');
}

/** One delivery that is stored, one that is ignored and one that is refused. */
async function deliver({ post, webhookUrl }: WholePath): Promise<void> {
  assert.equal(await post('push', { ref: 'refs/heads/main' }), 202);
  assert.equal(await post('ping', { zen: 'Keep it logically awesome.' }), 200);
  const headers = { 'Content-Type': 'application/json' };
  assert.equal((await fetch(webhookUrl, { method: 'POST', headers, body: '{"ref":"main"}' })).status, 401);
}

/** Whether the legend, or the columns of a table, name labels that the series have. */
function hasLabels({ legendFormat, panel }: PanelQuery, samples: Sample[]): boolean {
  const inLegend = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label);
  const columns = (panel.transformations ?? []).flatMap(({ options }) => options.include?.names ?? []);
  const labels = [...inLegend, ...columns.filter((column) => column !== 'Value')];
  return samples.every(({ metric }) => labels.every((label) => label in metric));
}

async function checkAssumptions(prometheus: Prometheus, where: string, expr: string): Promise<void> {
  const { selectors, labels } = assumptionsOf(await prometheus.parse(expr));
  assert.notEqual(selectors.length, 0, where);
  const known = new Set<string>();
  for (const { metric, labels: matched } of selectors) {
    if (metric === SELDOM) {
      assert.ok((await prometheus.metricNames()).includes(metric));
      return;
    }
    const own = new Set((await prometheus.series(metric)).flatMap((series) => Object.keys(series)));
    assert.ok(own.size > 0, `${where}: nobody exports ${metric}`);
    for (const label of matched) assert.ok(own.has(label), `${where}: ${metric} has no label ${label}`);
    for (const label of own) known.add(label);
  }
  for (const label of labels) assert.ok(known.has(label), `${where}: no series has a label ${label}`);
}

async function listPending(prometheus: Prometheus, alerts: Alert[]): Promise<string[]> {
  const answers = await Promise.all(
    alerts.map(async ({ alert, expr }) => ({ alert, found: await prometheus.query(expr) })),
  );
  return answers.filter(({ found }) => found.length > 0).map(({ alert }) => alert);
}

/** A pod that a monitor selects, as service discovery describes it. */
interface ScrapedPod {
  /** Host and port of its metrics. */
  address: string;
  namespace: string;
  pod: string;
  annotations?: Record<string, string>;
}

/** Returns the Prometheus operator's configuration for the only endpoint of a monitor, for the fields in the chart. */
function scrapeConfigOf(monitor: Rendered, scraped: ScrapedPod, token?: string): object {
  const { kind, metadata, spec } = monitor;
  const [endpoint] = spec.endpoints ?? spec.podMetricsEndpoints;
  const { scheme, tlsConfig, honorLabels = false, relabelings = [] } = endpoint;
  const annotations = Object.entries(scraped.annotations ?? {}).map(([name, value]) => [
    `__meta_kubernetes_pod_annotation_${name.replaceAll(/\W/g, '_')}`,
    value,
  ]);
  const { address, namespace, pod } = scraped;
  const job = kind === 'PodMonitor' ? `${metadata.namespace}/${metadata.name}` : `${metadata.name}-metrics`;
  const labels = { namespace, pod, job, endpoint: endpoint.port, ...Object.fromEntries(annotations) };
  return {
    job_name: `${kind}/${metadata.namespace}/${metadata.name}`,
    honor_labels: honorLabels,
    ...(scheme && { scheme }),
    ...(tlsConfig && { tls_config: { insecure_skip_verify: tlsConfig.insecureSkipVerify } }),
    ...((endpoint.bearerTokenFile || endpoint.authorization) && token && { authorization: { credentials: token } }),
    static_configs: [{ targets: [address], labels }],
    relabel_configs: relabelings.map(({ sourceLabels, targetLabel }: Record<string, unknown>) => ({
      source_labels: sourceLabels,
      target_label: targetLabel,
    })),
  };
}

/** Labels and metrics that a query requires. */
interface Assumptions {
  /** Metrics with the labels that they are selected by. */
  selectors: { metric: string; labels: string[] }[];
  /** Labels used to group or match series. */
  labels: string[];
}

/** Walks the syntax tree of a query. */
function assumptionsOf(root: SyntaxNode): Assumptions {
  const nodes = [...nodesOf(root)];
  return {
    selectors: nodes.filter(isSelector).map(({ name, matchers }) => ({
      metric: name as string,
      labels: (matchers as { name: string }[]).map((matcher) => matcher.name).filter((label) => label !== '__name__'),
    })),
    labels: nodes.flatMap(({ grouping, matching }) => [
      ...((grouping as string[] | undefined) ?? []),
      ...((matching as { labels: string[] } | null | undefined)?.labels ?? []),
    ]),
  };
}

const isSelector = ({ type }: SyntaxNode) => type === 'vectorSelector' || type === 'matrixSelector';

function* nodesOf(value: unknown): Generator<SyntaxNode> {
  if (typeof value !== 'object' || value === null) return;
  if ('type' in value) yield value as SyntaxNode;
  for (const below of Object.values(value)) yield* nodesOf(below);
}
