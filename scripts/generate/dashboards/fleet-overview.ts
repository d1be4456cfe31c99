import { agentPanels } from './agent-panels.ts';
import { controller, git } from './controller-rows.ts';
import { dashboard, labelVariable } from './dashboard.ts';
import { mappings, override, thresholds, UIDS } from './grafana.ts';
import type { Row } from './lay-out.ts';
import { READY, readyTimeline, stat, table, timeSeries } from './panels.ts';
import { processes } from './process-row.ts';
import { ofLeader, orZero, readiness } from './queries.ts';
import { deliveries } from './receiver-rows.ts';

/** All GatewaySyncs at a glance, and the health of the programs that manage them. */
export function fleetOverview(): object {
  return dashboard({
    uid: UIDS.fleet,
    title: 'GatewaySyncs / Fleet overview',
    description: 'All GatewaySyncs at a glance, and the health of the controller, the receiver, and the agents.',
    variables: [
      labelVariable({
        name: 'namespace',
        label: 'Namespace',
        series: 'sync_controller_gatewaysync_paused',
        isMulti: true,
      }),
    ],
    rows: [fleet, resources, rollouts, deliveries, git, controller, agents, processes],
  });
}

const NAMESPACE = 'namespace=~"$namespace"';
const ready = readiness(NAMESPACE);
const notReady = `${ready} < 1 unless on (namespace, name) sync_controller_gatewaysync_paused == 1`;
/** Selects the same ten over the whole time range. */
const lowestReady = `(bottomk(10, avg_over_time(${ready}[$__range:$__interval] @ end())) < 1)`;
const gateways = (matchers = '') =>
  ofLeader('sync_controller_gateways', ['namespace', 'name', 'state'], `${NAMESPACE}${matchers}`);
const phases = (matchers = '') =>
  ofLeader('sync_controller_rollout_phase', ['namespace', 'name', 'phase'], `${NAMESPACE}${matchers}`);
const waits = (matchers = '') =>
  ofLeader('sync_controller_rollout_waiting', ['namespace', 'name', 'reason'], `${NAMESPACE}${matchers}`);
const AT_WORK = ', state!~"paused|dryRun"';
const inTrouble = thresholds('green', [1, 'red']);

const fleet: Row = {
  title: 'Fleet',
  panels: [
    stat({
      title: 'GatewaySyncs',
      description: 'GatewaySyncs in the selected namespaces.',
      query: { expr: orZero(`count(${ready})`) },
      width: 3,
    }),
    stat({
      title: 'Not ready',
      description: 'GatewaySyncs whose condition Ready is False or Unknown, except paused ones.',
      query: { expr: orZero(`count(${notReady})`) },
      thresholds: inTrouble,
      width: 3,
    }),
    stat({
      title: 'Gateways',
      description: 'Gateway pods of all GatewaySyncs in the selected namespaces.',
      query: { expr: orZero(`sum(${gateways()})`) },
      width: 3,
    }),
    stat({
      title: 'Gateways synced',
      description:
        'Share of gateways whose files are up to date. Gateways that are paused or in a dry run are ignored.',
      query: { expr: `(${orZero(`sum(${gateways(', state="synced"')})`)}) / sum(${gateways(AT_WORK)})` },
      unit: 'percentunit',
      thresholds: thresholds('red', [0.9, 'yellow'], [1, 'green']),
      noValue: 'No gateway',
      width: 3,
    }),
    stat({
      title: 'Pods without sidecar',
      description: 'Pods that request the sidecar but were created without it, in all namespaces.',
      query: { expr: 'max(sync_controller_pods_missing_sidecar and on (job, instance) sync_controller_leader == 1)' },
      thresholds: inTrouble,
      width: 3,
    }),
    stat({
      title: 'Leaders',
      description: 'Controller replicas that hold the Lease. Each installation has one leader.',
      query: { expr: 'sum(sync_controller_leader)' },
      mappings: mappings({ '0': { text: 'None', color: 'red' } }),
      thresholds: thresholds('red', [1, 'green']),
      width: 3,
    }),
    stat({
      title: 'Open receivers',
      description: 'Receivers without a secret or token. Any client that can reach them can request a sync.',
      query: { expr: 'sum(sync_receiver_unauthenticated)' },
      thresholds: inTrouble,
      noValue: 'No receiver',
      width: 3,
    }),
    stat({
      title: 'Webhook certificate expires in',
      description: 'Time until the serving certificate of the admission endpoint expires.',
      query: { expr: 'min(sync_controller_admission_certificate_expiry_timestamp_seconds > 0) - time()' },
      unit: 's',
      thresholds: thresholds('red', [7 * 86_400, 'yellow'], [14 * 86_400, 'green']),
      noValue: 'No webhook',
      width: 3,
    }),
  ],
};

const resources: Row = {
  title: 'GatewaySyncs',
  panels: [
    table({
      title: 'Not ready',
      description: 'GatewaySyncs whose condition Ready is False or Unknown. Click a name to see details.',
      queries: [{ expr: `${ready} < 1` }],
      columns: { namespace: 'Namespace', name: 'Name', Value: 'Ready' },
      overrides: [
        override('Value', { mappings: READY, 'custom.cellOptions': { type: 'color-text' } }),
        override('name', { links: [{ title: 'Details', url: detailsUrl() }] }),
      ],
      sortBy: { displayName: 'Namespace', desc: false },
    }),
    timeSeries({
      title: 'Condition Ready',
      description: 'GatewaySyncs by the status of their condition Ready.',
      queries: [
        { expr: orZero(`count(${ready} == 1)`), legend: 'ready' },
        { expr: orZero(`count(${ready} == 0)`), legend: 'not ready' },
        { expr: orZero(`count(${ready} < 0)`), legend: 'unknown' },
      ],
      isStacked: true,
      width: 6,
      hasOutcomes: true,
    }),
    timeSeries({
      title: 'Gateways by state',
      description: 'Gateway pods by the state that their agents report.',
      queries: [{ expr: `sum by (state) (${gateways()})`, legend: '{{state}}' }],
      isStacked: true,
      width: 6,
      hasOutcomes: true,
    }),
    readyTimeline({
      title: 'Unhealthy GatewaySyncs',
      description:
        'The ten GatewaySyncs that were ready for the shortest time. GatewaySyncs that were always ready are not shown.',
      queries: [{ expr: `${ready} and on (namespace, name) ${lowestReady}`, legend: '{{namespace}}/{{name}}' }],
    }),
  ],
};

const rollouts: Row = {
  title: 'Rollouts',
  panels: [
    stat({
      title: 'Stopped rollouts',
      description: 'Rollouts that stopped and are waiting for a decision or a newer commit.',
      query: { expr: orZero(`count(${phases(', phase="Stopped"')})`) },
      thresholds: inTrouble,
    }),
    stat({
      title: 'Waiting for approval',
      description: 'Rollouts with a wave that requires approval.',
      query: { expr: orZero(`count(${waits(', reason="Approval"')})`) },
      thresholds: thresholds('green', [1, 'yellow']),
    }),
    timeSeries({
      title: 'Rollouts by phase',
      description: 'GatewaySyncs that roll out in waves, by the phase of their rollout.',
      queries: [{ expr: `count by (phase) (${phases()})`, legend: '{{phase}}' }],
      isStacked: true,
      width: 16,
    }),
  ],
};

const agents: Row = {
  title: 'Agents',
  panels: [
    ...agentPanels(NAMESPACE, 'namespace'),
    timeSeries({
      title: 'Longest time since a successful sync',
      description: 'The ten agents whose last successful sync or check is the longest ago.',
      queries: [
        {
          expr: `topk(10, time() - max by (namespace, pod) (sync_agent_last_success_timestamp_seconds{${NAMESPACE}} > 0))`,
          legend: '{{namespace}}/{{pod}}',
        },
      ],
      unit: 's',
      width: 16,
    }),
    timeSeries({
      title: 'Versions',
      description: 'Agents by version. A pod keeps its version until it is recreated.',
      queries: [{ expr: `count by (version) (sync_agent_info{${NAMESPACE}})`, legend: '{{version}}' }],
      isStacked: true,
    }),
  ],
};

function detailsUrl(): string {
  const variables = ['namespace', 'name'].map((name) => `var-${name}=\${__data.fields.${name}}`);
  return `/d/${UIDS.gatewaySync}?\${__url_time_range}&var-datasource=\${datasource}&${variables.join('&')}`;
}
