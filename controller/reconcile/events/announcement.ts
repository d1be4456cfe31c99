import type { GatewaySyncStatus } from '../../../shared/api/gateway-sync-status.ts';
import { GIVEN_UP } from '../../../shared/domain/rollout/releases.ts';
import { isEqual } from '../status/merge-patch.ts';
import { stepOf, type Transition } from './status-transitions.ts';

/** Age at which a phase is no longer announced (ms): the API server deletes events after an hour. */
const EVENT_MS = 50 * 60_000;

/** The event about a phase of a rollout, which began at `since` (ms since the epoch). */
type PhaseTransition = Transition & { since: number; once: string };

/**
 * Adds to a decided status which phase of its rollout was announced last, and since when the current one isn't;
 * `isAnnounced` if the event about the phase in `before` is stored. No write is only about this.
 */
export function withAnnounced(
  before: GatewaySyncStatus,
  after: GatewaySyncStatus,
  { now, isAnnounced }: { now: number; isAnnounced: boolean },
): GatewaySyncStatus {
  const { announced: _, ...rest } = after;
  if (!after.rollout) return rest;
  const kept = { ...rest, ...(before.announced && { announced: before.announced }) };
  if (isEqual(before, kept)) return kept;
  // The first state after `spec.rollout` was added isn't announced.
  const isNew = before.rollout && !isEqual(stepOf(before.rollout), stepOf(after.rollout));
  const isDue = !isAnnounced && phaseTransition(before, now) !== undefined;
  if (isDue && !isNew) return kept;
  const { number, phase } = (isDue && before.announced) || (before.rollout ?? after.rollout);
  return { ...rest, announced: { number, phase, ...(isNew && { nextSince: new Date(now).toISOString() }) } };
}

/** Returns the event about the phase of a stored status, unless it was announced. */
export function phaseTransition({ rollout, announced }: GatewaySyncStatus, now: number): PhaseTransition | undefined {
  const since = Date.parse(announced?.nextSince ?? '');
  if (!rollout || Number.isNaN(since) || now - since > EVENT_MS) return undefined;
  const { phase, nextCommit, summary } = rollout;
  // The message of a complete rollout is only about the commit that waits.
  const message = (phase === 'Complete' && nextCommit ? undefined : rollout.message) ?? summary;
  const reason = `Rollout${phase}`;
  return { type: GIVEN_UP.includes(phase) ? 'Warning' : 'Normal', reason, message, since, once: `${reason} ${since}` };
}
