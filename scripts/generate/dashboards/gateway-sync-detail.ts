import { dashboard, labelVariable, type Row } from './dashboard.ts';
import { mappings, thresholds, UIDS } from './grafana.ts';
import { lines, READY, readyTimeline, stat, table } from './panels.ts';
import { agentRow } from './program-rows.ts';
import { ofLeader, orZero, rateBy, readiness, syncedShare } from './queries.ts';

/** One GatewaySync: its state, its gateways, and the syncs of their agents. */
export function gatewaySyncDetail(): object {
  const series = 'sync_controller_gatewaysync_paused';
  return dashboard({
    uid: UIDS.gatewaySync,
    title: 'GatewaySyncs / Details',
    description: 'One GatewaySync: its state, its gateways, and the syncs of their agents.',
    variables: [
      labelVariable('namespace', 'Namespace', { series }),
      labelVariable('name', 'GatewaySync', { series: `${series}{namespace="$namespace"}` }),
      labelVariable('pod', 'Pod', { series: `sync_agent_info{${RESOURCE}}`, isMulti: true }),
    ],
    rows: { State: state, Rollout: rollout, Syncs: agentRow(PODS, 'pod'), Gateways: gateways },
  });
}

const RESOURCE = 'namespace="$namespace", name="$name"';
const PODS = `${RESOURCE}, pod=~"$pod"`;
const gatewaysBy = (matchers = '') => ofLeader('sync_controller_gateways', ['state'], `${RESOURCE}${matchers}`);
const sinceLastSuccess = `time() - max by (pod) (sync_agent_last_success_timestamp_seconds{${PODS}} > 0)`;
const phase = { expr: ofLeader('sync_controller_rollout_phase', ['phase'], RESOURCE), legend: '{{phase}}' };
const failedGateways = `max(sync_controller_rollout_failed_gateways{${RESOURCE}})`;

const state: Row = {
  Ready: stat('Status of the condition Ready.', { expr: `max(${readiness(RESOURCE)})` }, { mappings: READY }),
  Stalled: stat(
    "Status of the condition Stalled. Yes means that it can't recover without a manual change.",
    { expr: `max(sync_controller_gatewaysync_condition{${RESOURCE}, type="Stalled", status="True"})` },
    { mappings: mappings({ '0': { text: 'No', color: 'green' }, '1': { text: 'Yes', color: 'red' } }) },
  ),
  Gateways: stat('Gateway pods of this GatewaySync.', { expr: orZero(`sum(${gatewaysBy()})`) }),
  Synced: stat(
    'Share of gateways whose files are up to date. Gateways that are paused or in a dry run are ignored.',
    syncedShare(gatewaysBy),
    { thresholds: thresholds('red', [0.9, 'yellow'], [1, 'green']), noValue: 'No gateway' },
  ),
  'Longest time since a successful sync': stat(
    'Longest time since the last successful sync or check of a gateway.',
    { expr: `max(${sinceLastSuccess})`, unit: 's' },
    { thresholds: thresholds('green', [300, 'yellow'], [1800, 'red']), noValue: 'No agent' },
  ),
  'Repaired files': stat(
    'Delivered files that were changed or removed by another process and that agents repaired, in the time range.',
    { expr: `sum(increase(sync_agent_drift_total{${PODS}}[$__range]))` },
    { thresholds: thresholds('green', [1, 'yellow']), noValue: 'No agent', decimals: 0 },
  ),
  'Condition Ready': readyTimeline(
    'The condition Ready over time.',
    { expr: readiness(RESOURCE), legend: 'Ready' },
    { width: 12, height: 8 },
  ),
  'Gateways by state': lines(
    'Gateway pods by the state that their agents report.',
    [{ expr: gatewaysBy(), legend: '{{state}}' }],
    { isStacked: true, width: 12 },
  ),
};

const rollout: Row = {
  Phase: stat('Phase of the rollout, if changes roll out in waves.', phase, { noValue: 'No rollout' }),
  'Failed gateways': stat(
    'Gateways that failed in the rollout.',
    { expr: failedGateways },
    { thresholds: thresholds('green', [1, 'red']), noValue: 'No rollout' },
  ),
  'Phase over time': lines(
    'Phase of the rollout and number of failed gateways over time.',
    [phase, { expr: failedGateways, legend: 'failed gateways' }],
    { width: 16 },
  ),
};

const gateways: Row = {
  'Failed syncs': lines(
    'Failed syncs per second. The SyncReport of the pod shows the reason.',
    rateBy('sync_agent_syncs_total', 'pod', `${PODS}, result="error"`),
  ),
  'Time since a successful sync': lines(
    'Time since the last successful sync or check. If a gateway is healthy, this is at most about the sync period.',
    [{ expr: sinceLastSuccess, legend: '{{pod}}', unit: 's' }],
  ),
  Agents: table(
    'The agents and their versions. A pod keeps its version until it is recreated.',
    `max by (pod, version) (sync_agent_info{${PODS}})`,
    { columns: { pod: 'Pod', version: 'Version' }, width: 8 },
  ),
};
