import { agentPanels } from './agent-panels.ts';
import { dashboard, labelVariable } from './dashboard.ts';
import { mappings, thresholds, UIDS } from './grafana.ts';
import type { Row } from './lay-out.ts';
import { READY, readyTimeline, stat, table, timeSeries } from './panels.ts';
import { ofLeader, orZero, rate, readiness } from './queries.ts';

/** One GatewaySync: its state, its gateways, and the syncs of their agents. */
export function gatewaySyncDetail(): object {
  return dashboard({
    uid: UIDS.gatewaySync,
    title: 'GatewaySyncs / Details',
    description: 'One GatewaySync: its state, its gateways, and the syncs of their agents.',
    variables: [
      labelVariable({ name: 'namespace', label: 'Namespace', series: 'sync_controller_gatewaysync_paused' }),
      labelVariable({
        name: 'name',
        label: 'GatewaySync',
        series: 'sync_controller_gatewaysync_paused{namespace="$namespace"}',
      }),
      labelVariable({ name: 'pod', label: 'Pod', series: `sync_agent_info{${RESOURCE}}`, isMulti: true }),
    ],
    rows: [state, rollout, syncs, gateways],
  });
}

const RESOURCE = 'namespace="$namespace", name="$name"';
const PODS = `${RESOURCE}, pod=~"$pod"`;
const gatewaysBy = (matchers = '') => ofLeader('sync_controller_gateways', ['state'], `${RESOURCE}${matchers}`);
const sinceLastSuccess = `time() - max by (pod) (sync_agent_last_success_timestamp_seconds{${PODS}} > 0)`;

const state: Row = {
  title: 'State',
  panels: [
    stat({
      title: 'Ready',
      description: 'Status of the condition Ready.',
      query: { expr: `max(${readiness(RESOURCE)})` },
      mappings: READY,
    }),
    stat({
      title: 'Stalled',
      description: "Status of the condition Stalled. Yes means that it can't recover without a manual change.",
      query: { expr: `max(sync_controller_gatewaysync_condition{${RESOURCE}, type="Stalled", status="True"})` },
      mappings: mappings({ '0': { text: 'No', color: 'green' }, '1': { text: 'Yes', color: 'red' } }),
    }),
    stat({
      title: 'Gateways',
      description: 'Gateway pods of this GatewaySync.',
      query: { expr: orZero(`sum(${gatewaysBy()})`) },
    }),
    stat({
      title: 'Synced',
      description:
        'Share of gateways whose files are up to date. Gateways that are paused or in a dry run are ignored.',
      query: {
        expr: `(${orZero(`sum(${gatewaysBy(', state="synced"')})`)}) / sum(${gatewaysBy(', state!~"paused|dryRun"')})`,
      },
      unit: 'percentunit',
      thresholds: thresholds('red', [0.9, 'yellow'], [1, 'green']),
      noValue: 'No gateway',
    }),
    stat({
      title: 'Longest time since a successful sync',
      description: 'Longest time since the last successful sync or check of a gateway.',
      query: { expr: `max(${sinceLastSuccess})` },
      unit: 's',
      thresholds: thresholds('green', [300, 'yellow'], [1800, 'red']),
      noValue: 'No agent',
    }),
    stat({
      title: 'Repaired files',
      description:
        'Delivered files that were changed or removed by another process and that agents repaired, in the time range.',
      query: { expr: `sum(increase(sync_agent_drift_total{${PODS}}[$__range]))` },
      thresholds: thresholds('green', [1, 'yellow']),
      noValue: 'No agent',
      decimals: 0,
    }),
    readyTimeline({
      title: 'Condition Ready',
      description: 'The condition Ready over time.',
      queries: [{ expr: readiness(RESOURCE), legend: 'Ready' }],
      width: 12,
      height: 8,
    }),
    timeSeries({
      title: 'Gateways by state',
      description: 'Gateway pods by the state that their agents report.',
      queries: [{ expr: gatewaysBy(), legend: '{{state}}' }],
      isStacked: true,
      width: 12,
      hasOutcomes: true,
    }),
  ],
};

const rollout: Row = {
  title: 'Rollout',
  panels: [
    stat({
      title: 'Phase',
      description: 'Phase of the rollout, if changes roll out in waves.',
      query: { expr: ofLeader('sync_controller_rollout_phase', ['phase'], RESOURCE), legend: '{{phase}}' },
      showsName: true,
      noValue: 'No rollout',
    }),
    stat({
      title: 'Failed gateways',
      description: 'Gateways that failed in the rollout.',
      query: { expr: `max(sync_controller_rollout_failed_gateways{${RESOURCE}})` },
      thresholds: thresholds('green', [1, 'red']),
      noValue: 'No rollout',
    }),
    timeSeries({
      title: 'Phase over time',
      description: 'Phase of the rollout and number of failed gateways over time.',
      queries: [
        { expr: ofLeader('sync_controller_rollout_phase', ['phase'], RESOURCE), legend: '{{phase}}' },
        { expr: `max(sync_controller_rollout_failed_gateways{${RESOURCE}})`, legend: 'failed gateways' },
      ],
      width: 16,
    }),
  ],
};

const syncs: Row = { title: 'Syncs', panels: agentPanels(PODS, 'pod') };

const gateways: Row = {
  title: 'Gateways',
  panels: [
    timeSeries({
      title: 'Failed syncs',
      description: 'Failed syncs per second. The SyncReport of the pod shows the reason.',
      queries: [{ expr: rate('sync_agent_syncs_total', ['pod'], `${PODS}, result="error"`), legend: '{{pod}}' }],
      unit: 'ops',
    }),
    timeSeries({
      title: 'Time since a successful sync',
      description:
        'Time since the last successful sync or check. If a gateway is healthy, this is at most about the sync period.',
      queries: [{ expr: sinceLastSuccess, legend: '{{pod}}' }],
      unit: 's',
    }),
    table({
      title: 'Agents',
      description: 'The agents and their versions. A pod keeps its version until it is recreated.',
      queries: [{ expr: `max by (pod, version) (sync_agent_info{${PODS}})` }],
      columns: { pod: 'Pod', version: 'Version' },
      sortBy: { displayName: 'Pod', desc: false },
      width: 8,
    }),
  ],
};
