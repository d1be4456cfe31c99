import { conditionOf } from '../reconcile/conditions.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import type { Metrics } from './metrics.ts';

const values = { True: 1, False: 0, Unknown: -1 };

/** Sets the gauges of resources anew, so that those of deleted ones are gone. */
export function sampleResources(metrics: Metrics, gatewaySyncs: Iterable<ObservedGatewaySync>): void {
  metrics.ready.reset();
  metrics.gateways.reset();
  metrics.conditions.reset();
  for (const { namespace, name, status } of gatewaySyncs) {
    const ready = conditionOf(status.conditions, 'Ready');
    for (const { type, status: state } of status.conditions ?? [])
      metrics.conditions.inc({ condition: type, status: state });
    if (ready) metrics.ready.set({ namespace, name, reason: ready.reason }, values[ready.status]);
    const { summary: _, total: __, ...states } = status.gateways ?? { summary: '', total: 0 };
    for (const [state, count] of Object.entries(states)) {
      if (count > 0) metrics.gateways.set({ namespace, name, state }, count);
    }
  }
}
