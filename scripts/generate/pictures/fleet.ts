import type { GatewayCounts, GatewaySyncStatus } from '../../../shared/api/gateway-sync-status.ts';

/** A GatewaySync of the scenario. Times are minutes from the left edge of the pictures. */
export interface Site {
  namespace: string;
  name: string;
  gateways: string[];
  version: string;
  /** When somebody pushes to its branch. */
  pushes: number[];
  /** When somebody changes a file of its first gateway by hand. */
  drifts: number[];
  isPaused?: boolean;
}

/** Length of the scenario, in minutes; it begins a little before the pictures do. */
export const MINUTES = { before: 6, shown: 30 };
/** While the repository of `packaging` is down: pushes wait, and agents fail that still have to fetch. */
const outage = { from: 8, to: 17, namespace: 'lyon', name: 'packaging' };
/** While somebody sends the receiver deliveries without a valid signature. */
const attack = { from: 21, to: 26 };

/** Twelve gateways of four GatewaySyncs. */
export const SITES: Site[] = [
  site('berlin', 'presses', 4, {
    version: '0.1.0',
    pushes: [-4, -2, 1, 3, 6, 8, 10.5, 13, 15.5, 18, 19.5, 22, 24, 27, 29],
    drifts: [],
  }),
  site('berlin', 'robots', 3, {
    version: '0.1.0',
    pushes: [-3, 2, 5, 7.5, 9, 11, 14, 16, 20, 22.5, 26, 28],
    drifts: [10, 24],
  }),
  site('lyon', 'packaging', 3, {
    version: '0.1.1',
    pushes: [-3, 0.5, 2, 4, 6, 8, 12, 20, 23, 25, 28],
    drifts: [5, 22],
  }),
  site('turin', 'paint', 2, { version: '0.1.1', pushes: [15], drifts: [], isPaused: true }),
];

/** The GatewaySync whose details the second picture shows. */
export const DETAILED = { namespace: outage.namespace, name: outage.name };

function site(
  namespace: string,
  name: string,
  count: number,
  rest: Omit<Site, 'namespace' | 'name' | 'gateways'>,
): Site {
  return { namespace, name, gateways: Array.from({ length: count }, (_, index) => `${name}-${index}`), ...rest };
}

const isWithin = (minute: number, { from, to }: { from: number; to: number }) => minute >= from && minute < to;

export const isAttacked = (minute: number): boolean => isWithin(minute, attack);

/** Minutes of the attack so far. */
export const minutesOfAttack = (minute: number): number => Math.max(0, Math.min(minute, attack.to) - attack.from);

/** Whether the git host of a GatewaySync does not answer. */
export const isDown = (minute: number, { namespace, name }: Pick<Site, 'namespace' | 'name'>): boolean =>
  namespace === outage.namespace && name === outage.name && isWithin(minute, outage);

/** When each sync of a GatewaySync ends for good, with the time of its push. */
export function syncsOf(site: Site): { pushed: number; applied: number }[] {
  if (site.isPaused) return [];
  return site.pushes.map((pushed) => ({ pushed, applied: isDown(pushed, site) ? outage.to + 0.5 : pushed + 0.25 }));
}

/** The status that the controller has written at a minute. */
export function statusOf(site: Site, minute: number): GatewaySyncStatus {
  const total = site.gateways.length;
  const isWaiting = syncsOf(site).some(({ pushed, applied }) => minute >= pushed && minute < applied);
  const counts = (synced: number, others: Partial<GatewayCounts> = {}): GatewayCounts => ({
    ...{ summary: `${synced}/${total} synced`, total, synced },
    ...{ pending: 0, error: 0, missingSidecar: 0, paused: 0, dryRun: 0, skewed: 0, ...others },
  });
  if (site.isPaused) return status('Unknown', 'Paused', counts(0, { paused: total }));
  if (isDown(minute, site)) {
    // The controller had seen the first push already, so two gateways failed to fetch it.
    return minute < outage.from + 4
      ? status('False', 'GatewaysFailed', counts(total - 2, { error: 2 }))
      : status('False', 'GitUnreachable', counts(total - 2, { error: 2 }));
  }
  if (isWaiting) return status('Unknown', 'Syncing', counts(total - 1, { pending: 1 }));
  return status('True', 'Synced', counts(total));
}

function status(ready: 'True' | 'False' | 'Unknown', reason: string, gateways: GatewayCounts): GatewaySyncStatus {
  const condition = {
    type: 'Ready',
    status: ready,
    reason,
    message: '',
    lastTransitionTime: '',
    observedGeneration: 1,
  };
  return { gateways, conditions: [condition] };
}
