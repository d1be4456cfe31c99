import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import type { HistoryEntry, RolloutStatus } from '../../shared/api/rollout.ts';
import { canRetry, rollbackTarget } from '../../shared/domain/releases.ts';
import { shortCommit } from './gateway.ts';

/** A commit that all gateways had verified. */
export interface HistoryView extends HistoryEntry {
  /** What the gateways are to have: those of them that a rollout has not reached yet. */
  isStable: boolean;
  /** Whether `kubectl gs rollback --to` goes there. */
  canGoBack: boolean;
}

/** The history of a GatewaySync, the newest first. */
export function historyView({ status }: GatewaySync): HistoryView[] {
  const { rollout, history = [] } = status ?? {};
  return history.map((entry) => {
    const isStable = entry.commit === rollout?.stableCommit && entry.revision === rollout.stableRevision;
    return { ...entry, isStable, canGoBack: rollout !== undefined && !isStable };
  });
}

/** A release to go back to, and the value of the annotation that asks for it. */
export interface WayBack {
  value: string;
  commit: string;
  ref: string;
}

/** Where `previous` leads; undefined where there is nothing to go back to. */
function wayBack({ status }: GatewaySync): WayBack | undefined {
  return wayTo(status ?? {}, 'previous');
}

type Status = NonNullable<GatewaySync['status']>;

function wayTo({ rollout, history = [] }: Status, value: string): WayBack | undefined {
  const target = rollout && rollbackTarget(value, { rollout, history });
  return target && { value, commit: target.commit, ref: target.ref };
}

/** What the first characters of a commit stand for. */
export type Named = { kind: 'way'; way: WayBack } | { kind: 'unknown' | 'several' | 'there' };

/** Finds the commit of the history that begins so: the one to go back to, or why there is none. */
export function wayBackTo(gatewaySync: GatewaySync, start: string): Named {
  const { status = {} } = gatewaySync;
  const previous = wayBack(gatewaySync);
  if (start === 'previous') return previous ? { kind: 'way', way: previous } : { kind: 'unknown' };
  const commits = new Set((status.history ?? []).map(({ commit }) => commit).filter((each) => each.startsWith(start)));
  if (commits.size > 1) return { kind: 'several' };
  const [commit] = commits;
  if (commit === undefined || start === '') return { kind: 'unknown' };
  // The stable release is no entry to choose while another is on its way: it is the previous one then.
  const way = wayTo(status, commit) ?? (previous?.commit === commit ? previous : undefined);
  return way ? { kind: 'way', way } : { kind: 'there' };
}

/** The commit that waits for approval, or will; undefined where nothing is on its way. */
export function toApprove({ nextCommit, phase, commit }: RolloutStatus): string | undefined {
  if (nextCommit) return nextCommit;
  return ['Progressing', 'Soaking', 'AwaitingApproval', 'AwaitingWindow'].includes(phase) ? commit : undefined;
}

/** The commit that was stopped or taken back, and may be tried again; undefined where there is none. */
export function toRetry(rollout: RolloutStatus): string | undefined {
  const { commit, nextCommit, givenUp: [first = ''] = [] } = rollout;
  const [given] = first.split(' ');
  return [commit, nextCommit, given].find((each) => each && canRetry(each, rollout));
}

/** Of a commit with the ref that led to it: `c0ffee11 (v1.2.3)`. */
export const named = (commit: string, ref?: string | undefined): string =>
  `${shortCommit(commit)}${ref && ref !== commit ? ` (${ref})` : ''}`;
