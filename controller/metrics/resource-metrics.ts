import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ConditionType, GatewaySyncStatus } from '../../shared/api/gateway-sync-status.ts';

/** What the series of a resource are read from. */
export interface SampledResource {
  namespace: string;
  name: string;
  spec: { paused?: boolean };
  status: GatewaySyncStatus;
}

/** The metrics that each resource has; docs/reference/metrics.md lists them. */
export const RESOURCE_METRICS = {
  sync_controller_conditions: 'GatewaySyncs by the state of each condition; on the leader only.',
  sync_controller_gatewaysync_condition:
    'The conditions Ready and Stalled of a GatewaySync: 1 for the status that it has, 0 for the others; on the leader only.',
  sync_controller_gatewaysync_paused: '1 for a GatewaySync that is paused; on the leader only.',
  sync_controller_gateways: 'Gateways of a GatewaySync by state; on the leader only.',
  sync_controller_gateway_clock_skew_seconds:
    "Seconds by which the clock of a gateway is ahead of the API server's, negative if behind, only if that is more than 30; on the leader only.",
  sync_controller_rollout_phase: 'Phase of the rollout of a GatewaySync, always 1; on the leader only.',
  sync_controller_rollout_waiting:
    'What the rollout of a GatewaySync waits for other than its gateways, always 1; on the leader only.',
  sync_controller_rollout_failed_gateways: 'Gateways that failed in the rollout of a GatewaySync; on the leader only.',
} as const;

/** They sum up the others, of which `sync_controller_conditions` has the counts. */
const SUMMARIES: readonly string[] = ['Ready', 'Stalled'] satisfies ConditionType[];
const STATUSES = ['True', 'False', 'Unknown'];
/** Resources that are written down before others have their turn on the event loop: 1 to 2 ms. */
const SLICE = 250;

/**
 * Writes down the series of all resources in Prometheus' text format, in slices. A library's gauges would hold 20,000
 * series in memory, and stop everything while they are set again. In bytes, since the page has megabytes and the heap is
 * small.
 */
export async function renderResources(resources: Iterable<SampledResource>): Promise<Buffer> {
  const all = [...resources];
  const conditions = new Map<string, number>();
  const metrics = SERIES.map(([name, seriesOf]) => ({ seriesOf, bytes: [headOf(name)] }));
  for (let first = 0; first < all.length; first += SLICE) {
    if (first > 0) await nextTurn();
    const slice = all.slice(first, first + SLICE);
    for (const { seriesOf, bytes } of metrics) bytes.push(bytesOf(slice.flatMap(seriesOf)));
    for (const { status } of slice) countConditions(status, conditions);
  }
  const counts = Array.from(conditions, ([labels, count]) => `sync_controller_conditions{${labels}} ${count}`);
  return Buffer.concat([
    headOf('sync_controller_conditions'),
    bytesOf(counts),
    ...metrics.flatMap(({ bytes }) => bytes),
  ]);
}

const bytesOf = (lines: string[]): Buffer => Buffer.from(lines.map((line) => `${line}\n`).join(''));

const headOf = (name: keyof typeof RESOURCE_METRICS): Buffer =>
  bytesOf([`# HELP ${name} ${RESOURCE_METRICS[name]}`, `# TYPE ${name} gauge`]);

const ownLabels = ({ namespace, name }: SampledResource): string =>
  `namespace="${escapeLabel(namespace)}",name="${escapeLabel(name)}"`;

function conditionsOf(resource: SampledResource): string[] {
  const conditions = (resource.status.conditions ?? []).filter(({ type }) => SUMMARIES.includes(type));
  return conditions.flatMap(({ type, status }) =>
    STATUSES.map((each) => {
      const labels = `${ownLabels(resource)},type="${type}",status="${each}"`;
      return `sync_controller_gatewaysync_condition{${labels}} ${each === status ? 1 : 0}`;
    }),
  );
}

const pausedOf = (resource: SampledResource): string[] => [
  `sync_controller_gatewaysync_paused{${ownLabels(resource)}} ${resource.spec.paused ? 1 : 0}`,
];

function gatewaysOf(resource: SampledResource): string[] {
  const { summary: _, total: __, ...states } = resource.status.gateways ?? { summary: '', total: 0 };
  return Object.entries(states)
    .filter(([, count]) => count > 0)
    .map(([state, count]) => `sync_controller_gateways{${ownLabels(resource)},state="${escapeLabel(state)}"} ${count}`);
}

function clocksOf(resource: SampledResource): string[] {
  return (resource.status.discoveredGateways ?? []).flatMap(({ podName, clockSkew }) => {
    if (clockSkew === undefined) return [];
    const labels = `${ownLabels(resource)},pod="${escapeLabel(podName)}"`;
    return [`sync_controller_gateway_clock_skew_seconds{${labels}} ${clockSkew}`];
  });
}

function phaseOf(resource: SampledResource): string[] {
  const { rollout } = resource.status;
  return rollout ? [`sync_controller_rollout_phase{${ownLabels(resource)},phase="${rollout.phase}"} 1`] : [];
}

function waitOf(resource: SampledResource): string[] {
  const { waitsFor } = resource.status.rollout ?? {};
  return waitsFor ? [`sync_controller_rollout_waiting{${ownLabels(resource)},reason="${waitsFor}"} 1`] : [];
}

function failedOf(resource: SampledResource): string[] {
  const { rollout } = resource.status;
  return rollout ? [`sync_controller_rollout_failed_gateways{${ownLabels(resource)}} ${rollout.failed}`] : [];
}

function countConditions(status: GatewaySyncStatus, counts: Map<string, number>): void {
  for (const { type, status: state } of status.conditions ?? []) {
    const labels = `type="${escapeLabel(type)}",status="${state}"`;
    counts.set(labels, (counts.get(labels) ?? 0) + 1);
  }
}

/** What makes the series of each metric, in the order of the page. */
const SERIES: [name: keyof typeof RESOURCE_METRICS, seriesOf: (resource: SampledResource) => string[]][] = [
  ['sync_controller_gatewaysync_condition', conditionsOf],
  ['sync_controller_gatewaysync_paused', pausedOf],
  ['sync_controller_gateways', gatewaysOf],
  ['sync_controller_gateway_clock_skew_seconds', clocksOf],
  ['sync_controller_rollout_phase', phaseOf],
  ['sync_controller_rollout_waiting', waitOf],
  ['sync_controller_rollout_failed_gateways', failedOf],
];

/** https://prometheus.io/docs/instrumenting/exposition_formats/#comments-help-text-and-type-information. */
function escapeLabel(value: string): string {
  return /[\\"\n]/.test(value) ? value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n') : value;
}
