import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import type { StoredRelease } from '../../shared/domain/rollout/stored-release.ts';
import { omit, withoutUndefined } from '../../shared/domain/text/objects.ts';
import { basisWords } from '../fleet/basis.ts';
import type { Beyond } from '../fleet/beyond.ts';
import { type DifferenceView, differencesIn } from '../fleet/differences.ts';
import { type ResourceView, type RolloutView, resourceView } from '../fleet/fleet.ts';
import type { GatewayView } from '../fleet/gateway.ts';
import { approversIn, type HistoryView, historyView } from '../fleet/history.ts';
import { planOfPreview } from '../fleet/plan.ts';
import { type PlanSummary, summarizePlan } from '../fleet/plan-summary.ts';
import { barsIn } from '../fleet/sync-progress.ts';
import { isBackwards, type WaveView } from '../fleet/waves.ts';
import type { Look } from '../terminal/bars.ts';
import { plain } from '../terminal/text.ts';
import { offersOf, type Verb } from './verbs.ts';

/** Summary of a GatewaySync. */
export interface Card
  extends Pick<
    ResourceView,
    'namespace' | 'name' | 'state' | 'says' | 'ref' | 'commit' | 'backOn' | 'keeps' | 'counts'
  > {
  rollout?: Pick<NonNullable<ResourceView['rollout']>, 'summary'>;
  /** Appearance of the gateways in the order of the waves; empty if there are too many to draw, or some are unknown. */
  looks: Look[];
  /** Number of gateways by appearance. */
  lookCounts: LookCounts;
}

type LookCounts = Partial<Record<Look, number>>;

/** Details of a GatewaySync. Its gateways are sent apart from them, because only a few change at a time. */
export interface Detail extends Omit<ResourceView, 'gateways' | 'rollout'> {
  rollout?: Omit<RolloutView, 'waves'>;
  /** The waves with the pods of their gateways, or one bar with all gateways without a rollout. */
  bars: (Omit<WaveView, 'gateways'> & { pods?: string[] })[];
  /** Source of the gateways as a sentence. */
  basisSays: string;
  /** Reasons why gateways wait, or their problems, grouped. */
  waits: Wait[];
  /** Gateways whose files differ, up to a limit, and the number of all. */
  differences: DifferenceView[];
  different: number;
  /** The releases; undefined if they can't be read. */
  history?: (HistoryView & { approvedBy: string })[];
  /** Releases are kept for rollbacks. */
  hasHistory: boolean;
  /** The applicable verbs. */
  offers: Verb[];
  /** Plan of the commit that is previewed. */
  plan?: PlanSummary;
}

/** A gateway, with its appearance if its wave is known. */
export interface GatewayDot extends GatewayView {
  look?: Look;
}

interface Wait {
  why: string;
  status: GatewayView['status'];
  /** Number of gateways, and the names of the first ones. */
  count: number;
  gateways: string[];
}

const COUNTS = new Intl.NumberFormat('en');
/** Maximum dots on a card. */
const DOTS = 200;
/** Maximum gateways in one sentence. */
const NAMED = 6;
/** Maximum gateways whose differences are listed. */
const DIFFERENT = 20;

/** Creates the card of a GatewaySync, without control characters. */
export function cardOf(gatewaySync: GatewaySync, beyond: Beyond): Card {
  const view = resourceView(gatewaySync, beyond);
  const { namespace, name, state, says, ref, commit, backOn, keeps, counts, rollout } = view;
  const looks = barsIn(view).flatMap(({ gateways = [] }) => gateways.map(({ look }) => look));
  const isWhole = looks.length > 0 && looks.length >= Math.min(counts.total, view.basis.shown);
  return plainly(
    withoutUndefined({
      namespace,
      name,
      state,
      says,
      counts,
      ref,
      commit,
      backOn,
      keeps,
      rollout: rollout && { summary: rollout.summary },
      looks: isWhole && looks.length <= DOTS ? looks : [],
      lookCounts: isWhole ? countLooks(looks) : countsIn(gatewaySync),
    }),
  );
}

function countLooks(looks: readonly Look[]): LookCounts {
  const counts: LookCounts = {};
  for (const look of looks) counts[look] = (counts[look] ?? 0) + 1;
  return counts;
}

/** Counts the gateways by the status alone. */
function countsIn({ status = {} }: GatewaySync): LookCounts {
  const { rollout, gateways } = status;
  if (rollout && !isBackwards(rollout)) {
    const { total, admitted, verified, failed } = rollout;
    const onItsWay = Math.max(0, admitted - verified - failed);
    return { failed, onItsWay, new: verified, old: Math.max(0, total - verified - failed - onItsWay) };
  }
  const { synced = 0, error = 0, missingSidecar = 0, pending = 0, skewed = 0, paused = 0, dryRun = 0 } = gateways ?? {};
  const others = { failed: error + missingSidecar, onItsWay: pending + skewed };
  return rollout ? { ...others, old: synced + paused + dryRun } : { ...others, new: synced, old: paused + dryRun };
}

/** Creates the details of a GatewaySync for the page, and its gateways. */
export function detailOf(gatewaySync: GatewaySync, beyond: Beyond): { detail: Detail; gateways: GatewayDot[] } {
  const view = resourceView(gatewaySync, beyond);
  const bars = barsIn(view);
  const looks = new Map(bars.flatMap(({ gateways = [] }) => gateways.map(({ pod, look }) => [pod, look] as const)));
  const differences = differencesIn(gatewaySync, beyond);
  const { gateways, rollout, ...rest } = view;
  const detail: Detail = {
    ...rest,
    ...(rollout && { rollout: omit(rollout, 'waves') }),
    bars: bars.map(({ gateways: members, ...bar }) => ({
      ...bar,
      ...(members && { pods: members.map(({ pod }) => pod) }),
    })),
    basisSays: basisWords(view.basis, (count) => COUNTS.format(count)),
    waits: waitsOf(view),
    differences: differences.slice(0, DIFFERENT),
    different: differences.length,
    ...(beyond.releases && { history: historyIn(gatewaySync, beyond.releases) }),
    hasHistory: gatewaySync.spec.rollout !== undefined,
    offers: offersOf(gatewaySync, beyond),
    ...planIn(gatewaySync, beyond, view),
  };
  return plainly({
    detail,
    gateways: gateways.map((gateway) => withoutUndefined({ ...gateway, look: looks.get(gateway.pod) })),
  });
}

const historyIn = (gatewaySync: GatewaySync, releases: readonly StoredRelease[]) =>
  historyView(gatewaySync, releases).map((each) => ({ ...each, approvedBy: approversIn(each) }));

/** Returns the plan of the commit that is previewed, if there is one. */
export function planIn(gatewaySync: GatewaySync, beyond: Beyond, view?: ResourceView): { plan?: PlanSummary } {
  const { preview } = gatewaySync.status?.rollout ?? {};
  return preview ? { plan: summarizePlan(planOfPreview(gatewaySync, preview, beyond, view)) } : {};
}

/** Groups gateways by the reason of their wait; problems first. */
function waitsOf({ gateways }: ResourceView): Wait[] {
  const waiting = gateways.filter(({ waitsFor }) => waitsFor);
  const groups = Map.groupBy(waiting, ({ waitsFor, status }) => `${status} ${waitsFor}`);
  const waits = [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (!first?.waitsFor) return [];
    const named = group.slice(0, NAMED).map(({ name }) => name);
    return [{ why: first.waitsFor, status: first.status, count: group.length, gateways: named }];
  });
  return waits.sort((a, b) => urgencyOf(a) - urgencyOf(b));
}

function urgencyOf({ status }: Wait): number {
  if (status === 'Error' || status === 'MissingSidecar') return 0;
  return status === 'Synced' ? 2 : 1;
}

/** Removes control characters from all texts in a value, because many are untrusted. */
export function plainly<T>(value: T): T {
  if (typeof value === 'string') return plain(value) as T;
  if (Array.isArray(value)) return value.map((each) => plainly(each)) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, plainly(each)])) as T;
}
