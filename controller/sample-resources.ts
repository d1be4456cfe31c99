import { conditionOf } from './domain/conditions.ts';
import type { ObservedGatewaySync } from './domain/observed-gateway-sync.ts';
import type { Metrics } from './metrics.ts';

const values = { True: 1, False: 0, Unknown: -1 };

/** Sets the gauges of every resource anew, so that those of deleted ones are gone. */
export function sampleResources(metrics: Metrics, gatewaySyncs: Iterable<ObservedGatewaySync>): void {
  metrics.ready.reset();
  metrics.gateways.reset();
  for (const { namespace, name, status } of gatewaySyncs) {
    const ready = conditionOf(status.conditions, 'Ready');
    if (ready) metrics.ready.set({ namespace, name, reason: ready.reason }, values[ready.status]);
    const { summary: _, total: __, ...states } = status.gateways ?? { summary: '', total: 0 };
    for (const [state, count] of Object.entries(states)) {
      if (count > 0) metrics.gateways.set({ namespace, name, state }, count);
    }
  }
}
