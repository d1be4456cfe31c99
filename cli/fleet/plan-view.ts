import { shortCommit } from './messages.ts';

/** Plan of a release for all gateways. `--output json` prints it. */
export interface PlanView extends PlanHead {
  /** Reason why there is nothing to plan. */
  says?: string;
  counts: PlanCounts & { files: number };
  /** Counts per wave, if the waves of the gateways are known. */
  waves?: (PlanCounts & { name: string })[];
  /** Gateways with identical changes, the largest group first. */
  groups: PlanGroup[];
  /** Gateways to which the release can't be delivered, by reason. */
  failing: PlanReason[];
  /** Gateways without a plan, by reason. They count as changed. */
  silent: PlanReason[];
  /** Gateways that don't get the release now, by reason. */
  skipped: PlanReason[];
  unchanged: GatewayInPlan[];
  /** Gateways that already have the release. */
  done: GatewayInPlan[];
  /** First file whose template or patch uses the commit or the ref, so that every commit changes it. */
  everyCommit?: string;
}

/** The planned release. */
export interface PlanHead {
  namespace: string;
  name: string;
  ref?: string;
  commit?: string;
  /** Name of its SyncRelease. */
  release?: string | undefined;
  /** The gateways have the commit: the plan is of an edit of `spec.sync`. */
  isEdit?: boolean;
  /** Number of all gateways, if only some were queried. */
  sampledFrom?: number;
}

/** Names the planned release by its ref, its commit, and its SyncRelease, as far as they are known. */
export function plannedRelease({ ref, commit, release }: PlanHead): string | undefined {
  const details = [commit !== ref && commit && shortCommit(commit), release].filter(Boolean).join(', ');
  return [ref, details && `(${details})`].filter(Boolean).join(' ') || undefined;
}

/** Numbers of gateways. */
export interface PlanCounts extends Record<Fate['kind'], number> {
  gateways: number;
}

export interface GatewayInPlan {
  gateway: string;
  pod: string;
  profile?: string;
  wave?: string;
}

/** Changes of one gateway. */
export interface Changes {
  /** Hash that identical changes have in common. */
  digest: string;
  /** Number of all changes. */
  files: number;
  added: number;
  modified: number;
  deleted: number;
  /** The first changes, such as `modify etc/a.conf`. */
  paths: readonly string[];
  /** Message of a problem that the current release has as well, which the plan has no files for. */
  problem?: string;
}

interface PlanGroup extends Changes {
  gateways: GatewayInPlan[];
}

export interface PlanReason {
  why: string;
  /** The gateways have a plan, and the rollout ignores that the release can't be delivered to them. */
  isFailure?: true;
  gateways: GatewayInPlan[];
}

/** Effect of a release on one gateway. */
export type Fate =
  | { kind: 'changed'; changes: Changes }
  | { kind: 'failing' | 'silent'; why: string }
  | { kind: 'skipped'; why: string; isFailure?: true }
  | { kind: 'unchanged' | 'done' };

/** A gateway with its fate. */
export interface Planned {
  gateway: GatewayInPlan;
  fate: Fate;
  everyCommit?: string | undefined;
}

/** Creates the view. `waves` are the names of all waves, in order. */
export function planView(head: PlanHead, planned: readonly Planned[], waves?: readonly string[]): PlanView {
  const groups = groupsOf(planned);
  const files = groups.reduce((sum, group) => sum + group.files * group.gateways.length, 0);
  const everyCommit = planned.find((each) => each.everyCommit)?.everyCommit;
  const inWave = Map.groupBy(planned, ({ gateway }) => gateway.wave);
  const withFate = (kind: Fate['kind']) => planned.filter(({ fate }) => fate.kind === kind).map((each) => each.gateway);
  return {
    ...head,
    counts: { ...countsOf(planned), files },
    ...(waves && { waves: waves.map((name) => ({ name, ...countsOf(inWave.get(name) ?? []) })) }),
    groups,
    failing: reasonsOf('failing', planned),
    silent: reasonsOf('silent', planned),
    skipped: reasonsOf('skipped', planned),
    unchanged: withFate('unchanged'),
    done: withFate('done'),
    ...(everyCommit && { everyCommit }),
  };
}

function countsOf(planned: readonly Planned[]): PlanCounts {
  const counts = { gateways: 0, changed: 0, failing: 0, silent: 0, unchanged: 0, done: 0, skipped: 0 };
  for (const { fate } of planned) {
    counts.gateways += 1;
    counts[fate.kind] += 1;
  }
  return counts;
}

/** Compares all fields: a compromised gateway can report the digest of others with different paths. */
function groupsOf(planned: readonly Planned[]): PlanGroup[] {
  const changed = planned.flatMap(({ gateway, fate }) =>
    fate.kind === 'changed' ? [{ ...fate.changes, gateways: [gateway] }] : [],
  );
  return combine(changed, ({ gateways: _, ...changes }) => JSON.stringify(changes));
}

function reasonsOf(kind: 'failing' | 'silent' | 'skipped', planned: readonly Planned[]): PlanReason[] {
  const reasons = planned.flatMap(({ gateway, fate }): PlanReason[] => {
    if (fate.kind !== kind) return [];
    const { kind: _, ...reason } = fate;
    return [{ ...reason, gateways: [gateway] }];
  });
  return combine(reasons, ({ why }) => why);
}

/** Combines the gateways of groups with the same key, the largest group first. */
function combine<T extends { gateways: GatewayInPlan[] }>(groups: readonly T[], keyOf: (group: T) => string): T[] {
  return [...Map.groupBy(groups, keyOf).values()]
    .flatMap(([first, ...others]) =>
      first ? [{ ...first, gateways: [first, ...others].flatMap(({ gateways }) => gateways) }] : [],
    )
    .sort((a, b) => b.gateways.length - a.gateways.length);
}

/** Groups with the same counts and paths, whose files have different contents, for example because of templates. */
export interface PlanSection extends Omit<PlanGroup, 'digest'> {
  /** Number of different contents. */
  versions: number;
}

/** Combines groups that look the same, the largest first. */
export function sectionsOf({ groups }: Pick<PlanView, 'groups'>): PlanSection[] {
  const keyOf = ({ added, modified, deleted, files, paths, problem }: Omit<PlanGroup, 'digest'>) =>
    JSON.stringify([added, modified, deleted, files, paths, problem]);
  // Each key is made once: 5,000 fabricated reports have 20 MB of paths.
  const alike = Map.groupBy(groups, keyOf);
  return [...alike.values()]
    .flatMap(([first, ...others]) => (first ? [sectionOf(first, others)] : []))
    .sort((a, b) => b.gateways.length - a.gateways.length);
}

function sectionOf({ digest: _, ...first }: PlanGroup, others: readonly PlanGroup[]): PlanSection {
  const gateways = [first, ...others].flatMap((group) => group.gateways);
  return { ...first, gateways, versions: 1 + others.length };
}
