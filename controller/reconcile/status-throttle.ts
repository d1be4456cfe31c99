import type { GatewaySyncStatus } from '../../shared/api/gateway-sync-status.ts';
import { isEqual } from './merge-patch.ts';

/** Time between two writes that are only about the fleet, and between two of one rollout's phases, in milliseconds. */
const PERIOD_MS = { fleet: 1_000, phase: 500 };

/**
 * Holds back writes that are only about the fleet: a hundred agents that report within a second make one write. What
 * people and agents wait for (a commit, an answer to a request, a rollout that begins, stops or goes back) is written at
 * once. Other phases are written twice a second: an agent may say 'well' and 'not well' in turns.
 */
export class StatusThrottle {
  readonly #writtenAt: Partial<typeof PERIOD_MS> = {};

  /** Milliseconds to wait before the write; 0 to write now. */
  waitMs(before: GatewaySyncStatus, after: GatewaySyncStatus, now: number): number {
    if (!isEqual(urgentFieldsOf(before), urgentFieldsOf(after)) || isEqual(before, after)) return 0;
    const kind = isEqual(phaseOf(before), phaseOf(after)) ? 'fleet' : 'phase';
    const last = this.#writtenAt[kind];
    const wait = last === undefined ? 0 : last + PERIOD_MS[kind] - now;
    if (wait > 0) return wait;
    this.#writtenAt[kind] = now;
    return 0;
  }
}

function urgentFieldsOf(status: GatewaySyncStatus) {
  const { observedGeneration, observedRef, target, lastSyncCommit, lastRequest, lastPush, refResolutionStatus } =
    status;
  const { rollout, conditions } = status;
  const refResolved = conditions?.find(({ type }) => type === 'RefResolved');
  return {
    observedGeneration,
    observedRef,
    target,
    lastSyncCommit,
    lastRequest,
    lastPush,
    refResolutionStatus,
    refResolved: { status: refResolved?.status, reason: refResolved?.reason },
    rollout: { number: rollout?.number, isStopped: rollout?.phase === 'Stopped' },
  };
}

const phaseOf = ({ rollout }: GatewaySyncStatus) => ({ phase: rollout?.phase, wave: rollout?.wave });
