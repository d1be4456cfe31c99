import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import type { HistoryEntry, RolloutStatus } from '../../shared/api/rollout.ts';
import {
  canRetry,
  isInProgress,
  isSame,
  type Release,
  type ReleaseName,
  rollbackTarget,
  stableOf,
} from '../../shared/domain/rollout/releases.ts';
import { shortCommit } from './messages.ts';

/** A commit whose rollout was complete. */
export interface HistoryView extends HistoryEntry {
  /** It's the current stable commit of the gateways. */
  isStable: boolean;
  /** `kubectl stoker rollback --to` accepts it. */
  canGoBack: boolean;
  /** The value for `--to`. */
  to: string;
}

/** Returns the history of a GatewaySync, newest first. */
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

/** Abbreviates a value of `--to`. */
export const shortWay = (to: string): string => to.split('/').map(shortCommit).join('/');

/** Target of a rollback, and the value of its annotation. */
export interface WayBack {
  value: string;
  commit: string;
  ref: string;
  /** It's newer than the commit of the gateways. */
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

/** Result of the lookup of an abbreviated commit. */
export type Named = { kind: 'way'; way: WayBack } | { kind: 'unknown' | 'several' | 'there' };

/** Finds a commit of the history by its first characters. `COMMIT/REVISION` selects among entries of one commit. */
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

/** Returns the release that waits or will wait for approval; undefined if none is being rolled out. */
export function toApprove(rollout: RolloutStatus): ReleaseName | undefined {
  const { nextCommit, nextRevision = '', commit, revision } = rollout;
  if (nextCommit) return { commit: nextCommit, revision: nextRevision };
  return isInProgress(rollout) ? { commit, revision } : undefined;
}

/** Returns the commit that was stopped or rolled back and can be retried, or undefined. */
export function toRetry(rollout: RolloutStatus): string | undefined {
  const { commit, nextCommit, givenUp: [first = ''] = [] } = rollout;
  const [given] = first.split(' ');
  return [commit, nextCommit, given].find((each) => each && canRetry(each, rollout));
}

/** Formats a commit with its ref: `c0ffee11 (v1.2.3)`. */
export const named = (commit: string, ref?: string | undefined): string =>
  `${shortCommit(commit)}${ref && ref !== commit ? ` (${ref})` : ''}`;
