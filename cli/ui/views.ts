import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { withoutUndefined } from '../../shared/domain/objects.ts';
import type { Beyond } from '../fleet/beyond.ts';
import { type DifferenceView, differencesIn } from '../fleet/differences.ts';
import { type FleetView, type ResourceView, resourceView } from '../fleet/fleet.ts';
import { byNeed } from '../fleet/gateway.ts';
import { type HistoryView, historyView } from '../fleet/orders.ts';
import { type BarView, barsIn } from '../fleet/sync-progress.ts';
import type { Look } from '../terminal/bars.ts';
import { plain } from '../terminal/text.ts';
import { type Offer, offersOf } from './verbs.ts';

/** A GatewaySync among others. */
export interface Card
  extends Pick<
    ResourceView,
    'namespace' | 'name' | 'state' | 'reason' | 'says' | 'ref' | 'commit' | 'backOn' | 'counts'
  > {
  rollout?: Pick<NonNullable<ResourceView['rollout']>, 'phase' | 'summary'>;
  /** Looks of the gateways that are known, in the order of the waves. */
  looks: Look[];
}

/** All of a GatewaySync. */
export interface Detail extends ResourceView {
  /** The waves, or all gateways at once where there are none. */
  bars: BarView[];
  /** What gateways wait for, or what is wrong with them, and with which. */
  waits: Wait[];
  differences: DifferenceView[];
  history: HistoryView[];
  /** Whether commits are kept to go back to. */
  hasHistory: boolean;
  offers: Offer[];
}

interface Wait {
  why: string;
  status: ResourceView['gateways'][number]['status'];
  gateways: string[];
}

/** Makes the card of a GatewaySync; no text in it moves other text about. */
export function cardOf(gatewaySync: GatewaySync, beyond: Beyond): Card {
  const view = resourceView(gatewaySync, beyond);
  const { namespace, name, state, reason, says, ref, commit, backOn, counts, rollout } = view;
  return plainly(
    withoutUndefined({
      namespace,
      name,
      state,
      reason,
      says,
      counts,
      ref,
      commit,
      backOn,
      rollout: rollout && { phase: rollout.phase, summary: rollout.summary },
      looks: barsIn(view).flatMap(({ gateways = [] }) => gateways.map(({ look }) => look)),
    }),
  );
}

/** Makes all of a GatewaySync that a page shows. */
export function detailOf(gatewaySync: GatewaySync, beyond: Beyond): Detail {
  const view = resourceView(gatewaySync, beyond);
  return plainly({
    ...view,
    gateways: byNeed(view.gateways),
    bars: barsIn(view),
    waits: waitsOf(view),
    differences: differencesIn(gatewaySync, beyond),
    history: historyView(gatewaySync),
    hasHistory: gatewaySync.spec.rollout !== undefined,
    offers: offersOf(gatewaySync),
  });
}

/** Gateways that wait for the same, together; what needs somebody comes first. */
function waitsOf({ gateways }: ResourceView): Wait[] {
  const waiting = gateways.filter(({ waitsFor }) => waitsFor);
  const groups = Map.groupBy(waiting, ({ waitsFor, status }) => `${status} ${waitsFor}`);
  const waits = [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (!first?.waitsFor) return [];
    return [{ why: first.waitsFor, status: first.status, gateways: group.map(({ name }) => name) }];
  });
  return waits.sort((a, b) => urgencyOf(a) - urgencyOf(b));
}

function urgencyOf({ status }: Wait): number {
  if (status === 'Error' || status === 'MissingSidecar') return 0;
  return status === 'Synced' ? 2 : 1;
}

/** Sums over these cards, and over nothing else. */
export function totalsOf(cards: Iterable<Pick<Card, 'state' | 'counts'>>): FleetView['totals'] {
  const totals = { resources: 0, ready: 0, gateways: 0, synced: 0 };
  for (const { state, counts } of cards) {
    totals.resources += 1;
    totals.ready += state === 'ready' ? 1 : 0;
    totals.gateways += counts.total;
    totals.synced += counts.synced;
  }
  return totals;
}

/** A value whose texts are plain, since tenants write many of them. */
export function plainly<T>(value: T): T {
  if (typeof value === 'string') return plain(value) as T;
  if (Array.isArray(value)) return value.map((each) => plainly(each)) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, plainly(each)])) as T;
}
