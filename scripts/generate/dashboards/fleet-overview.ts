import { dashboard, labelVariable, type Row } from './dashboard.ts';
import { mappings, override, thresholds, UIDS } from './grafana.ts';
import { lines, READY, readyTimeline, stat, table } from './panels.ts';
import { agentRow, controller, deliveries, git, processes } from './program-rows.ts';
import { ofLeader, orZero, readiness, syncedShare } from './queries.ts';

/** All GatewaySyncs at a glance, and the health of the programs that manage them. */
export function fleetOverview(): object {
  const series = 'sync_controller_gatewaysync_paused';
  return dashboard({
    uid: UIDS.fleet,
    title: 'GatewaySyncs / Fleet overview',
    description: 'All GatewaySyncs at a glance, and the health of the controller, the receiver, and the agents.',
    variables: [labelVariable('namespace', 'Namespace', { series, isMulti: true })],
    rows: {
      Fleet: fleet,
      GatewaySyncs: resources,
      Rollouts: rollouts,
      'Deliveries (receiver)': deliveries,
      'Git servers (controller)': git,
      Controller: controller,
      Agents: agents,
      Processes: processes,
    },
  });
}

const NAMESPACE = 'namespace=~"$namespace"';
const ready = readiness(NAMESPACE);
const notReady = `${ready} < 1 unless on (namespace, name) sync_controller_gatewaysync_paused == 1`;
/** Selects the same ten over the whole time range. */
const lowestReady = `(bottomk(10, avg_over_time(${ready}[$__range:$__interval] @ end())) < 1)`;
const by = (gauge: string, label: string, matchers = '') =>
  ofLeader(gauge, ['namespace', 'name', label], `${NAMESPACE}${matchers}`);
const gateways = (matchers = '') => by('sync_controller_gateways', 'state', matchers);
const phases = (matchers = '') => by('sync_controller_rollout_phase', 'phase', matchers);
const approvals = by('sync_controller_rollout_waiting', 'reason', ', reason="Approval"');
const inTrouble = thresholds('green', [1, 'red']);

const tile: typeof stat = (description, query, options) => stat(description, query, { ...options, width: 3 });

const fleet: Row = {
  GatewaySyncs: tile('GatewaySyncs in the selected namespaces.', { expr: orZero(`count(${ready})`) }),
  'Not ready': tile(
    'GatewaySyncs whose condition Ready is False or Unknown, except paused ones.',
    { expr: orZero(`count(${notReady})`) },
    { thresholds: inTrouble },
  ),
  Gateways: tile('Gateway pods of all GatewaySyncs in the selected namespaces.', {
    expr: orZero(`sum(${gateways()})`),
  }),
  'Gateways synced': tile(
    'Share of gateways whose files are up to date. Gateways that are paused or in a dry run are ignored.',
    syncedShare(gateways),
    { thresholds: thresholds('red', [0.9, 'yellow'], [1, 'green']), noValue: 'No gateway' },
  ),
  'Pods without sidecar': tile(
    'Pods that request the sidecar but were created without it, in all namespaces.',
    { expr: 'max(sync_controller_pods_missing_sidecar and on (job, instance) sync_controller_leader == 1)' },
    { thresholds: inTrouble },
  ),
  Leaders: tile(
    'Controller replicas that hold the Lease. Each installation has one leader.',
    { expr: 'sum(sync_controller_leader)' },
    { mappings: mappings({ '0': { text: 'None', color: 'red' } }), thresholds: thresholds('red', [1, 'green']) },
  ),
  'Open receivers': tile(
    'Receivers without a secret or token. Any client that can reach them can request a sync.',
    { expr: 'sum(sync_receiver_unauthenticated)' },
    { thresholds: inTrouble, noValue: 'No receiver' },
  ),
  'Webhook certificate expires in': tile(
    'Time until the serving certificate of the admission endpoint expires.',
    { expr: 'min(sync_controller_admission_certificate_expiry_timestamp_seconds > 0) - time()', unit: 's' },
    { thresholds: thresholds('red', [7 * 86_400, 'yellow'], [14 * 86_400, 'green']), noValue: 'No webhook' },
  ),
};

const resources: Row = {
  'Not ready': table(
    'GatewaySyncs whose condition Ready is False or Unknown. Click a name to see details.',
    `${ready} < 1`,
    {
      columns: { namespace: 'Namespace', name: 'Name', Value: 'Ready' },
      overrides: [
        override('Value', { mappings: READY, 'custom.cellOptions': { type: 'color-text' } }),
        override('name', { links: [{ title: 'Details', url: detailsUrl() }] }),
      ],
    },
  ),
  'Condition Ready': lines(
    'GatewaySyncs by the status of their condition Ready.',
    [
      { expr: orZero(`count(${ready} == 1)`), legend: 'ready' },
      { expr: orZero(`count(${ready} == 0)`), legend: 'not ready' },
      { expr: orZero(`count(${ready} < 0)`), legend: 'unknown' },
    ],
    { isStacked: true, width: 6 },
  ),
  'Gateways by state': lines(
    'Gateway pods by the state that their agents report.',
    [{ expr: `sum by (state) (${gateways()})`, legend: '{{state}}' }],
    { isStacked: true, width: 6 },
  ),
  'Unhealthy GatewaySyncs': readyTimeline(
    'The ten GatewaySyncs that were ready for the shortest time. GatewaySyncs that were always ready are not shown.',
    { expr: `${ready} and on (namespace, name) ${lowestReady}`, legend: '{{namespace}}/{{name}}' },
  ),
};

const rollouts: Row = {
  'Stopped rollouts': stat(
    'Rollouts that stopped and are waiting for a decision or a newer commit.',
    { expr: orZero(`count(${phases(', phase="Stopped"')})`) },
    { thresholds: inTrouble },
  ),
  'Waiting for approval': stat(
    'Rollouts with a wave that requires approval.',
    { expr: orZero(`count(${approvals})`) },
    { thresholds: thresholds('green', [1, 'yellow']) },
  ),
  'Rollouts by phase': lines(
    'GatewaySyncs that roll out in waves, by the phase of their rollout.',
    [{ expr: `count by (phase) (${phases()})`, legend: '{{phase}}' }],
    { isStacked: true, width: 16 },
  ),
};

const lastSuccess = `max by (namespace, pod) (sync_agent_last_success_timestamp_seconds{${NAMESPACE}} > 0)`;

const agents: Row = {
  ...agentRow(NAMESPACE, 'namespace'),
  'Longest time since a successful sync': lines(
    'The ten agents whose last successful sync or check is the longest ago.',
    [{ expr: `topk(10, time() - ${lastSuccess})`, legend: '{{namespace}}/{{pod}}' }],
    { unit: 's', width: 16 },
  ),
  Versions: lines(
    'Agents by version. A pod keeps its version until it is recreated.',
    [{ expr: `count by (version) (sync_agent_info{${NAMESPACE}})`, legend: '{{version}}' }],
    { isStacked: true },
  ),
};

function detailsUrl(): string {
  const variables = ['namespace', 'name'].map((name) => `var-${name}=\${__data.fields.${name}}`);
  return `/d/${UIDS.gatewaySync}?\${__url_time_range}&var-datasource=\${datasource}&${variables.join('&')}`;
}
