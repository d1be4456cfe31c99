import { setImmediate as nextTurn } from 'node:timers/promises';
import type { GatewaySyncStatus } from '../../shared/api/gateway-sync-status.ts';

/** What the series of a resource are read from. */
export interface SampledResource {
  namespace: string;
  name: string;
  status: GatewaySyncStatus;
}

/** The metrics that each resource has; docs/reference/metrics.md lists them. */
export const RESOURCE_METRICS = {
  sync_controller_conditions: 'GatewaySyncs by the state of each condition; on the leader only.',
  sync_controller_gatewaysync_ready:
    'The condition Ready of a GatewaySync: 1 True, 0 False, -1 Unknown; on the leader only.',
  sync_controller_gateways: 'Gateways of a GatewaySync by state; on the leader only.',
  sync_controller_gateway_clock_skew_seconds:
    "Seconds by which the clock of a gateway is ahead of the API server's, negative if behind, only if that is more than 30; on the leader only.",
  sync_controller_rollout_phase: 'Phase of the rollout of a GatewaySync, always 1; on the leader only.',
  sync_controller_rollout_waiting:
    'What the rollout of a GatewaySync waits for other than its gateways, always 1; on the leader only.',
  sync_controller_rollout_failed_gateways: 'Gateways that failed in the rollout of a GatewaySync; on the leader only.',
} as const;

const VALUES = { True: 1, False: 0, Unknown: -1 };
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
  const [ready, gateways, clocks]: [Buffer[], Buffer[], Buffer[]] = [[], [], []];
  const [phases, waits, failed]: [Buffer[], Buffer[], Buffer[]] = [[], [], []];
  for (let first = 0; first < all.length; first += SLICE) {
    if (first > 0) await nextTurn();
    const slice = all.slice(first, first + SLICE);
    ready.push(bytesOf(slice.flatMap(readyOf)));
    gateways.push(bytesOf(slice.flatMap(gatewaysOf)));
    clocks.push(bytesOf(slice.flatMap(clocksOf)));
    phases.push(bytesOf(slice.flatMap(phaseOf)));
    waits.push(bytesOf(slice.flatMap(waitOf)));
    failed.push(bytesOf(slice.flatMap(failedOf)));
    for (const { status } of slice) countConditions(status, conditions);
  }
  const counts = Array.from(conditions, ([labels, count]) => `sync_controller_conditions{${labels}} ${count}`);
  return Buffer.concat([
    ...[headOf('sync_controller_conditions'), bytesOf(counts)],
    ...[headOf('sync_controller_gatewaysync_ready'), ...ready],
    ...[headOf('sync_controller_gateways'), ...gateways],
    ...[headOf('sync_controller_gateway_clock_skew_seconds'), ...clocks],
    ...[headOf('sync_controller_rollout_phase'), ...phases],
    ...[headOf('sync_controller_rollout_waiting'), ...waits],
    ...[headOf('sync_controller_rollout_failed_gateways'), ...failed],
  ]);
}

const bytesOf = (lines: string[]): Buffer => Buffer.from(lines.map((line) => `${line}\n`).join(''));

const headOf = (name: keyof typeof RESOURCE_METRICS): Buffer =>
  bytesOf([`# HELP ${name} ${RESOURCE_METRICS[name]}`, `# TYPE ${name} gauge`]);

const ownLabels = ({ namespace, name }: SampledResource): string =>
  `namespace="${escapeLabel(namespace)}",name="${escapeLabel(name)}"`;

function readyOf(resource: SampledResource): string[] {
  const ready = resource.status.conditions?.find(({ type }) => type === 'Ready');
  if (!ready) return [];
  const labels = `${ownLabels(resource)},reason="${escapeLabel(ready.reason)}"`;
  return [`sync_controller_gatewaysync_ready{${labels}} ${VALUES[ready.status]}`];
}

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
    const labels = `condition="${escapeLabel(type)}",status="${state}"`;
    counts.set(labels, (counts.get(labels) ?? 0) + 1);
  }
}

/** https://prometheus.io/docs/instrumenting/exposition_formats/#comments-help-text-and-type-information. */
function escapeLabel(value: string): string {
  return /[\\"\n]/.test(value) ? value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n') : value;
}
