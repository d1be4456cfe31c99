import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { allGateways } from './all-gateways.ts';
import { type Beyond, reportsOf } from './beyond.ts';

/** Reported drift of a gateway, or the reported changes of a dry run. */
export interface DifferenceView {
  gateway: string;
  pod: string;
  kind: 'drift' | 'dryRun';
  /** One line per file. */
  files: readonly string[];
}

/** Lists the reported differences per gateway. */
export function differencesIn(gatewaySync: GatewaySync, beyond: Beyond): DifferenceView[] {
  const reportOf = reportsOf(gatewaySync.metadata.namespace, beyond);
  return allGateways(gatewaySync, beyond).flatMap((gateway) => {
    const { changes = [], state } = reportOf(gateway) ?? {};
    if (changes.length === 0) return [];
    return [
      { gateway: gateway.name, pod: gateway.podName, kind: state === 'DryRun' ? 'dryRun' : 'drift', files: changes },
    ];
  });
}
