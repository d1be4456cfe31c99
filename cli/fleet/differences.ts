import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { allGateways } from './all-gateways.ts';
import { type Beyond, reportsOf } from './beyond.ts';

/** What differs from git on a gateway, or what a dry run would change there, as far as its report names it. */
export interface DifferenceView {
  gateway: string;
  pod: string;
  kind: 'drift' | 'dryRun';
  /** A line for each file. */
  files: readonly string[];
}

/** Names what reports say of files that differ, gateway by gateway. */
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
