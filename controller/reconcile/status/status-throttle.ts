import type { GatewaySyncStatus } from '../../../shared/api/gateway-sync-status.ts';
import { conditionOf } from '../../../shared/domain/kubernetes/condition-of.ts';
import { isEqual } from './merge-patch.ts';

/**
 * Minimum time between two writes that are only about the fleet, between two phases of a rollout, and during a preview
 * (ms). During a preview, it doubles.
 */
const PERIOD_MS = { fleet: 1_000, phase: 500, preview: 8_000 };

/**
 * Delays writes that are only about the fleet, so that a hundred reports within a second cost one write. Results that
 * users and agents wait for (a commit, the outcome of a request, a preview that begins or ends, a rollout that begins,
 * stops, or rolls back) are written at once. Other phases are written twice a second, because an agent can alternate
 * between states.
 */
export class StatusThrottle {
  readonly #writtenAt: Partial<typeof PERIOD_MS> = {};
  /** Time of the last write without a wait, for example when a preview began. */
  #urgentAt = Number.POSITIVE_INFINITY;

  /** Time to wait before the write (ms); 0 to write now. */
  waitMs(before: GatewaySyncStatus, after: GatewaySyncStatus, now: number): number {
    const kind = kindOf(before, after);
    const last = kind && this.#writtenAt[kind];
    if (kind === undefined || last === undefined || isEqual(before, after)) return 0;
    const periodMs = kind === 'preview' ? Math.max(PERIOD_MS.preview, last - this.#urgentAt) : PERIOD_MS[kind];
    return Math.max(0, last + periodMs - now);
  }

  /** Notes that the write has been made. */
  noteWritten(before: GatewaySyncStatus, after: GatewaySyncStatus, now: number): void {
    const kind = kindOf(before, after);
    if (kind === undefined) this.#urgentAt = now;
    this.#writtenAt[kind ?? 'preview'] = now;
  }
}

function urgentFieldsOf(status: GatewaySyncStatus) {
  const { observedGeneration, observedRef, target, lastSyncCommit, lastRequest, lastPush, refResolutionStatus } =
    status;
  const { rollout, conditions } = status;
  const { commit, revision, endedAt } = rollout?.preview ?? {};
  const refResolved = conditionOf(conditions, 'RefResolved');
  return {
    observedGeneration,
    observedRef,
    target,
    lastSyncCommit,
    lastRequest,
    lastPush,
    refResolutionStatus,
    refResolved: { status: refResolved?.status, reason: refResolved?.reason },
    rollout: {
      number: rollout?.number,
      isStopped: rollout?.phase === 'Stopped',
      isPreviewing: rollout?.phase === 'Previewing',
      previewed: { commit, revision, endedAt },
    },
  };
}

/** Returns the kind of a write that can wait; undefined if it is made at once. */
function kindOf(before: GatewaySyncStatus, after: GatewaySyncStatus): keyof typeof PERIOD_MS | undefined {
  if (!isEqual(urgentFieldsOf(before), urgentFieldsOf(after))) return undefined;
  if (!isEqual(phaseOf(before), phaseOf(after))) return 'phase';
  return isEqual(before.rollout?.preview, after.rollout?.preview) ? 'fleet' : 'preview';
}

const phaseOf = ({ rollout }: GatewaySyncStatus) => ({ phase: rollout?.phase, wave: rollout?.wave });
