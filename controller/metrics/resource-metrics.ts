import { setImmediate as nextTurn } from 'node:timers/promises';
import type { GatewaySyncStatus } from '../../shared/api/gateway-sync-status.ts';

/** What the series of a resource are read from. */
export interface SampledResource {
  namespace: string;
  name: string;
  status: GatewaySyncStatus;
}

/** The metrics that each resource has; docs/metrics.md lists them. */
export const RESOURCE_METRICS = {
  sync_controller_conditions: 'GatewaySyncs by the state of each condition; on the leader only.',
  sync_controller_gatewaysync_ready:
    'The condition Ready of a GatewaySync: 1 True, 0 False, -1 Unknown; on the leader only.',
  sync_controller_gateways: 'Gateways of a GatewaySync by state; on the leader only.',
} as const;

const VALUES = { True: 1, False: 0, Unknown: -1 };
/** Resources that are written down before others have their turn on the event loop: 1 to 2 ms. */
const SLICE = 250;

/**
 * Writes down the series of all resources in Prometheus' text format, in slices. A library's gauges would hold 20,000
 * series in memory, and stop everything while they are set anew.
 */
export async function renderResources(resources: Iterable<SampledResource>): Promise<string> {
  const conditions = new Map<string, number>();
  const [ready, gateways]: [string[], string[]] = [[], []];
  for (const [index, resource] of [...resources].entries()) {
    if (index % SLICE === SLICE - 1) await nextTurn();
    const { namespace, name, status } = resource;
    const own = `namespace="${escapeLabel(namespace)}",name="${escapeLabel(name)}"`;
    for (const { type, status: state, reason } of status.conditions ?? []) {
      const labels = `condition="${escapeLabel(type)}",status="${state}"`;
      conditions.set(labels, (conditions.get(labels) ?? 0) + 1);
      if (type === 'Ready')
        ready.push(`sync_controller_gatewaysync_ready{${own},reason="${escapeLabel(reason)}"} ${VALUES[state]}`);
    }
    const { summary: _, total: __, ...states } = status.gateways ?? { summary: '', total: 0 };
    for (const [state, count] of Object.entries(states))
      if (count > 0) gateways.push(`sync_controller_gateways{${own},state="${escapeLabel(state)}"} ${count}`);
  }
  const counts = Array.from(conditions, ([labels, count]) => `sync_controller_conditions{${labels}} ${count}`);
  return [
    ...block('sync_controller_conditions', counts),
    ...block('sync_controller_gatewaysync_ready', ready),
    ...block('sync_controller_gateways', gateways),
    '',
  ].join('\n');
}

function block(name: keyof typeof RESOURCE_METRICS, lines: string[]): string[] {
  return [`# HELP ${name} ${RESOURCE_METRICS[name]}`, `# TYPE ${name} gauge`, ...lines];
}

/** https://prometheus.io/docs/instrumenting/exposition_formats/#comments-help-text-and-type-information. */
function escapeLabel(value: string): string {
  return /[\\"\n]/.test(value) ? value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n') : value;
}
