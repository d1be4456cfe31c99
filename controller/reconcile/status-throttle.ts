import type { GatewaySyncStatus } from '../../shared/api/gateway-sync-status.ts';
import type { ObjectKey } from '../../shared/io/kubernetes/reflector.ts';
import { mergePatchOf } from './merge-patch.ts';

/** Time between two writes that only tell of the fleet, in milliseconds. */
const PERIOD_MS = 1_000;

/**
 * Holds back writes that only tell of the fleet: a hundred agents that report within a second make one write. What
 * people and agents wait for (a commit, an answer to a request) is written at once.
 */
export class StatusThrottle {
  readonly #writtenAt = new Map<ObjectKey, number>();

  /** Milliseconds to wait before the write; 0 to write now. */
  waitFor(key: ObjectKey, before: GatewaySyncStatus, after: GatewaySyncStatus, now: number): number {
    if (awaited(before) !== awaited(after) || mergePatchOf(before, after) === undefined) return 0;
    const last = this.#writtenAt.get(key);
    const wait = last === undefined ? 0 : last + PERIOD_MS - now;
    if (wait > 0) return wait;
    this.#writtenAt.set(key, now);
    return 0;
  }

  forget(key: ObjectKey): void {
    this.#writtenAt.delete(key);
  }
}

function awaited({
  observedGeneration,
  observedRef,
  target,
  lastSyncCommit,
  lastRequest,
  lastPush,
  refResolutionStatus,
  conditions,
}: GatewaySyncStatus): string {
  const refResolved = conditions?.find(({ type }) => type === 'RefResolved');
  return JSON.stringify([
    ...[observedGeneration, observedRef, target, lastSyncCommit, lastRequest, lastPush, refResolutionStatus],
    refResolved?.status,
    refResolved?.reason,
  ]);
}
