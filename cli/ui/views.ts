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

/** Summary of a GatewaySync. */
export interface Card
  extends Pick<
    ResourceView,
    'namespace' | 'name' | 'state' | 'reason' | 'says' | 'ref' | 'commit' | 'backOn' | 'counts'
  > {
  rollout?: Pick<NonNullable<ResourceView['rollout']>, 'phase' | 'summary'>;
  /** Appearance of the known gateways, in the order of the waves. */
  looks: Look[];
}

/** Details of a GatewaySync. */
export interface Detail extends ResourceView {
  /** The waves, or one bar with all gateways without a rollout. */
  bars: BarView[];
  /** Reasons why gateways wait, or their problems, grouped. */
  waits: Wait[];
  differences: DifferenceView[];
  history: HistoryView[];
  /** Commits are kept for rollbacks. */
  hasHistory: boolean;
  offers: Offer[];
}

interface Wait {
  why: string;
  status: ResourceView['gateways'][number]['status'];
  gateways: string[];
}

/** Creates the card of a GatewaySync, without control characters. */
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

/** Creates the details of a GatewaySync for the page. */
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

/** Groups gateways by the reason of their wait; problems first. */
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

/** Returns the totals of these cards. */
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

/** Removes control characters from all texts in a value, because many are untrusted. */
export function plainly<T>(value: T): T {
  if (typeof value === 'string') return plain(value) as T;
  if (Array.isArray(value)) return value.map((each) => plainly(each)) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, plainly(each)])) as T;
}
