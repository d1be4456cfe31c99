import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import type { HistoryEntry, RolloutStatus } from '../../shared/api/rollout.ts';
import { canRetry, isSame, type Release, rollbackTarget, stableOf } from '../../shared/domain/releases.ts';
import { shortCommit } from './gateway.ts';

/** A commit that all gateways had verified. */
export interface HistoryView extends HistoryEntry {
  /** What the gateways are to have: those of them that a rollout has not reached yet. */
  isStable: boolean;
  /** Whether `kubectl stoker rollback --to` leads there. */
  canGoBack: boolean;
  /** The value of `--to` that does. */
  to: string;
}

/** The history of a GatewaySync, the newest first. */
export function historyView({ status }: GatewaySync): HistoryView[] {
  const { rollout, history = [] } = status ?? {};
  return history.map((entry) => {
    const { commit, revision } = entry;
    const isStable = commit === rollout?.stableCommit && revision === rollout.stableRevision;
    const way = rollout && rollbackTarget(commit, { rollout, history });
    const to = way && !isSame(way, entry) ? `${commit}/${revision}` : commit;
    return { ...entry, isStable, canGoBack: rollout !== undefined && !isStable, to };
  });
}

/** The first characters of a value of `--to`, as far as a person needs them. */
export const shortWay = (to: string): string => to.split('/').map(shortCommit).join('/');

/** A release to go to, and the value of the annotation that orders it. */
export interface WayBack {
  value: string;
  commit: string;
  ref: string;
  /** Whether it is newer than what the gateways have. */
  isForward: boolean;
}

type Status = NonNullable<GatewaySync['status']>;

function wayTo({ rollout, history = [] }: Status, value: string): WayBack | undefined {
  const target = rollout && rollbackTarget(value, { rollout, history });
  if (!target) return undefined;
  const indexOf = (release: Release) => history.findIndex((entry) => isSame(entry, release));
  const isForward = indexOf(target) < indexOf(stableOf(rollout));
  return { value, commit: target.commit, ref: target.ref, isForward };
}

/** What the first characters of a commit stand for. */
export type Named = { kind: 'way'; way: WayBack } | { kind: 'unknown' | 'several' | 'there' };

/**
 * Finds the commit of the history that begins so: the one to go to, or why there is none. `COMMIT/REVISION` chooses among
 * entries of one commit.
 */
export function wayBackTo(gatewaySync: GatewaySync, start: string): Named {
  const { status = {} } = gatewaySync;
  if (start === 'previous') {
    const way = wayTo(status, start);
    return way ? { kind: 'way', way } : { kind: 'unknown' };
  }
  const [first = '', second] = start.split('/');
  const found = (status.history ?? []).filter(
    ({ commit, revision }) => commit.startsWith(first) && revision.startsWith(second ?? ''),
  );
  const values = new Set(
    found.map(({ commit, revision }) => (second === undefined ? commit : `${commit}/${revision}`)),
  );
  if (values.size > 1) return { kind: 'several' };
  const [value] = values;
  if (value === undefined || first === '') return { kind: 'unknown' };
  const way = wayTo(status, value);
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
