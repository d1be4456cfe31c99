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
  /** Its changes go to the first gateway, and to the others a little later. */
  hasRollout?: boolean;
}

/** Length of the scenario, in minutes; it begins a little before the pictures do. */
export const MINUTES = { before: 6, shown: 30 };
/** While the repository of `packaging` is down: pushes wait, and agents fail that still have to fetch. */
export const OUTAGE = { from: 8, to: 17, namespace: 'lyon', name: 'packaging' };
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
    hasRollout: true,
  }),
  site('lyon', 'packaging', 3, {
    version: '0.1.1',
    pushes: [-3, 0.5, 2, 4, 6, 8, 12, 20, 23, 25, 28],
    drifts: [5, 22],
    hasRollout: true,
  }),
  site('turin', 'paint', 2, { version: '0.1.1', pushes: [15], drifts: [], isPaused: true }),
];

/** The GatewaySync whose details the second picture shows. */
export const DETAILED = { namespace: OUTAGE.namespace, name: OUTAGE.name };

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
  namespace === OUTAGE.namespace && name === OUTAGE.name && isWithin(minute, OUTAGE);

/** Minutes from a push until it is applied, and from there until the gateways after the first one have it in a rollout. */
export const DELAYS = { sync: 0.25, rollout: 1 };

/** When each sync of a GatewaySync ends for good at its first gateway, with the time of its push. */
export function syncsOf(site: Site): { pushed: number; applied: number }[] {
  if (site.isPaused) return [];
  return site.pushes.map((pushed) => ({
    pushed,
    applied: (isDown(pushed, site) ? OUTAGE.to + 0.25 : pushed) + DELAYS.sync,
  }));
}

/** How much later than its first gateway another one gets a change. */
export const waitOf = (site: Site, index: number): number => (site.hasRollout && index > 0 ? DELAYS.rollout : 0);
