import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ConditionType, GatewaySyncStatus } from '../../shared/api/gateway-sync-status.ts';
import { omit } from '../../shared/domain/text/objects.ts';

/** The fields of a GatewaySync that its series contain. */
export interface SampledResource {
  namespace: string;
  name: string;
  spec: { paused?: boolean };
  status: GatewaySyncStatus;
}

/** Metrics of each resource; docs/reference/metrics.md lists them. */
export const RESOURCE_METRICS = {
  sync_controller_conditions: 'GatewaySyncs by the state of each condition; on the leader only.',
  sync_controller_gatewaysync_condition:
    'The conditions Ready and Stalled of a GatewaySync: 1 for the current status, 0 for the others; on the leader only.',
  sync_controller_gatewaysync_paused: '1 for a GatewaySync that is paused; on the leader only.',
  sync_controller_gateways: 'Gateways of a GatewaySync by state; on the leader only.',
  sync_controller_gateway_clock_skew_seconds:
    "Seconds by which the clock of a gateway is ahead of the API server's, negative if behind; only differences above 30 s are shown; on the leader only.",
  sync_controller_rollout_phase: 'Phase of the rollout of a GatewaySync, always 1; on the leader only.',
  sync_controller_rollout_waiting:
    'Cause that a rollout waits for, other than gateways in progress; always 1; on the leader only.',
  sync_controller_rollout_failed_gateways: 'Gateways that failed in the rollout of a GatewaySync; on the leader only.',
} as const;

/** Summaries of the other conditions, which `sync_controller_conditions` counts. */
const SUMMARIES: readonly string[] = ['Ready', 'Stalled'] satisfies ConditionType[];
const STATUSES = ['True', 'False', 'Unknown'];
/** Resources rendered before the event loop gets its turn (1 to 2 ms). */
const SLICE = 250;

/**
 * Renders the series of all resources in Prometheus' text format, in slices. The gauges of a library would keep 20,000
 * series in memory, and block the process while they are set. Returns bytes, because the page has megabytes and the
 * heap is small.
 */
export async function renderResources(resources: Iterable<SampledResource>): Promise<Buffer> {
  const all = [...resources];
  const conditions = new Map<string, number>();
  const metrics = Object.entries(SAMPLES).map(([name, samplesOf]) => ({ name, samplesOf, bytes: [headOf(name)] }));
  for (let first = 0; first < all.length; first += SLICE) {
    if (first > 0) await nextTurn();
    const slice = all.slice(first, first + SLICE);
    for (const { name, samplesOf, bytes } of metrics)
      bytes.push(bytesOf(slice.flatMap((resource) => seriesOf(name, resource, samplesOf(resource)))));
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

const headOf = (name: string): Buffer =>
  bytesOf([`# HELP ${name} ${RESOURCE_METRICS[name as MetricName]}`, `# TYPE ${name} gauge`]);

function seriesOf(metric: string, { namespace, name }: SampledResource, samples: Sample[]): string[] {
  if (samples.length === 0) return [];
  const own = labelsOf({ namespace, name });
  return samples.map(([value, labels]) => `${metric}{${labels ? `${own},${labelsOf(labels)}` : own}} ${value}`);
}

/** Uses a loop, because a page has 100,000 of them. */
function labelsOf(labels: Record<string, string>): string {
  let text = '';
  for (const name in labels) text += `${text ? ',' : ''}${name}="${escapeLabel(labels[name] ?? '')}"`;
  return text;
}

function countConditions(status: GatewaySyncStatus, counts: Map<string, number>): void {
  for (const { type, status: state } of status.conditions ?? []) {
    const labels = labelsOf({ type, status: state });
    counts.set(labels, (counts.get(labels) ?? 0) + 1);
  }
}

/** A value, with its labels besides those of the resource. */
type Sample = [value: number, labels?: Record<string, string>];

type MetricName = keyof typeof RESOURCE_METRICS;

/** Samples of a resource for each metric, in the order of the page. */
const SAMPLES: Record<Exclude<MetricName, 'sync_controller_conditions'>, (resource: SampledResource) => Sample[]> = {
  sync_controller_gatewaysync_condition: ({ status: { conditions = [] } }) =>
    conditions
      .filter(({ type }) => SUMMARIES.includes(type))
      .flatMap(({ type, status }) => STATUSES.map((each): Sample => [each === status ? 1 : 0, { type, status: each }])),
  sync_controller_gatewaysync_paused: ({ spec }) => [[spec.paused ? 1 : 0]],
  sync_controller_gateways: ({ status: { gateways } }) => {
    const states = gateways ? omit(gateways, 'summary', 'total') : {};
    const present = Object.entries<number>(states).filter(([, count]) => count > 0);
    return present.map(([state, count]) => [count, { state }]);
  },
  sync_controller_gateway_clock_skew_seconds: ({ status: { discoveredGateways = [] } }) =>
    discoveredGateways.flatMap(({ podName, clockSkew }): Sample[] =>
      clockSkew === undefined ? [] : [[clockSkew, { pod: podName }]],
    ),
  sync_controller_rollout_phase: ({ status: { rollout } }) => (rollout ? [[1, { phase: rollout.phase }]] : []),
  sync_controller_rollout_waiting: ({ status: { rollout } }) =>
    rollout?.waitsFor ? [[1, { reason: rollout.waitsFor }]] : [],
  sync_controller_rollout_failed_gateways: ({ status: { rollout } }) => (rollout ? [[rollout.failed]] : []),
};

/** https://prometheus.io/docs/instrumenting/exposition_formats/#comments-help-text-and-type-information. */
function escapeLabel(value: string): string {
  return /[\\"\n]/.test(value) ? value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n') : value;
}
