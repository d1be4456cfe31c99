import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { releaseNumber } from '../../shared/domain/rollout/release-name.ts';
import { isSame, type Release, rollbackTarget, stableOf } from '../../shared/domain/rollout/releases.ts';
import {
  completedIn,
  isComplete,
  newestFirst,
  type StoredRelease,
} from '../../shared/domain/rollout/stored-release.ts';
import { withoutUndefined } from '../../shared/domain/text/objects.ts';
import { shortCommit } from './messages.ts';
import { named } from './orders.ts';

/** A release of a GatewaySync. */
export interface HistoryView extends Pick<StoredRelease, 'number' | 'phase' | 'result' | 'ref' | 'commit'> {
  /** Name of the SyncRelease. */
  name: string;
  /** Time when all gateways first had it (RFC 3339). */
  completedAt?: string;
  /** It's the current stable release of the gateways. */
  isStable: boolean;
  /** `kubectl stoker rollback --to` accepts it. */
  canGoBack: boolean;
  /** Approvals by users, the oldest first; omitted if there are none. */
  approvals?: StoredRelease['approvals'];
}

/** Returns the releases of a GatewaySync, newest first. */
export function historyView(gatewaySync: GatewaySync, releases: readonly StoredRelease[]): HistoryView[] {
  const { rollout } = gatewaySync.status ?? {};
  return newestFirst(releasesOf(gatewaySync, releases)).map((each) => {
    const { release, number, phase, result, ref, commit, approvals, completedAt } = each;
    const isStable = release === rollout?.stableRelease;
    const isOther = rollout !== undefined && !isStable && !isSame(each, stableOf(rollout) ?? {});
    return withoutUndefined({
      number,
      name: release,
      phase,
      result,
      ref,
      commit,
      completedAt: completedAt === undefined ? undefined : new Date(completedAt).toISOString(),
      isStable,
      canGoBack: isOther && isComplete(each),
      approvals,
    });
  });
}

/** Lists the users who approved a release, with the waves if they approved only these. */
export function approversIn({ approvals = [] }: Pick<HistoryView, 'approvals'>): string {
  return [...new Set(approvals.map(({ by, wave }) => (wave === undefined ? by : `${by} (${wave})`)))].join(', ');
}

const releasesOf = ({ metadata }: GatewaySync, releases: readonly StoredRelease[]): StoredRelease[] =>
  releases.filter(({ namespace, crName }) => namespace === metadata.namespace && crName === metadata.name);

/** Target of a rollback, and the value of its annotation. */
export interface WayBack {
  value: string;
  target: Release;
  /** It's newer than the stable release. */
  isForward: boolean;
}

/** Result of the lookup of a release: the way to it, or the reason why there is none. */
export type WayFound = { kind: 'way'; way: WayBack } | { kind: 'unknown' | 'current' | 'incomplete' };

/** Finds the target of a rollback to `previous`, or to a release by its number or name. */
export function wayBackTo(gatewaySync: GatewaySync, to: string, releases: readonly StoredRelease[]): WayFound {
  const { rollout } = gatewaySync.status ?? {};
  const { name } = gatewaySync.metadata;
  const value = to === 'previous' ? to : [to, `${name}-${to}`].find((each) => releaseNumber(each, name) !== undefined);
  if (!rollout || value === undefined) return { kind: 'unknown' };
  const own = releasesOf(gatewaySync, releases);
  const stable = stableOf(rollout);
  const target = rollbackTarget(value, { rollout, completed: completedIn(own) });
  if (target) {
    const isForward = numberOf(target, name) > numberOf(stable ?? {}, name);
    return { kind: 'way', way: { value, target, isForward } };
  }
  const found = own.find(({ release }) => release === value);
  if (stable && (value === stable.release || (found && isSame(found, stable)))) return { kind: 'current' };
  return { kind: found ? 'incomplete' : 'unknown' };
}

const numberOf = ({ release = '' }: Partial<Release>, crName: string): number => releaseNumber(release, crName) ?? 0;

/** Formats a release: `release 12 (c0ffee11, v1.2.3)`, or only its commit if it has no number yet. */
export function releaseWords({ metadata }: GatewaySync, release: Release): string {
  const { commit, ref } = release;
  const number = numberOf(release, metadata.name);
  if (number === 0) return named(commit, ref);
  const short = shortCommit(commit);
  return `release ${number} (${ref === commit ? short : `${short}, ${ref}`})`;
}
