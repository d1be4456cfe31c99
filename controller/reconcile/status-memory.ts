import type { GatewaySyncStatus } from '../../shared/api/gateway-sync-status.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import { isEqual } from './merge-patch.ts';

export type Written = Pick<ObservedGatewaySync, 'uid' | 'resourceVersion' | 'status'>;

/** Facts of a process about one status that it writes. */
export interface StatusMemory {
  /** The last write, until the watch has delivered it. */
  written?: ObservedGatewaySync | undefined;
  /** When it was written (ms of a monotonic clock). */
  writtenAt?: number;
  /** The status to restore, while another writer's is stored. */
  desired?: Pick<Written, 'uid' | 'status'> | undefined;
  /** Writes that were sent and have no response. */
  sent?: readonly GatewaySyncStatus[] | undefined;
  /** Whether the status was ever the decided one; before that, changes are those of the previous leader. */
  hasDecided?: boolean;
  /** During a write, the author of a change is unknown. */
  isWriting?: boolean;
}

/** Time in which the watch delivers a write (ms): milliseconds, or minutes if it fell silent. */
const DELIVERY_MS = 4 * 60_000;

/** After this time, a write is no longer stored: the API server was restored from a backup. */
export function expireWritten(memory: StatusMemory, now: number): StatusMemory {
  const { written, writtenAt = now } = memory;
  return written && now - writtenAt > DELIVERY_MS
    ? noteSent({ ...memory, written: undefined }, written.status)
    : memory;
}

/**
 * Returns the cached resource, or the one that was last written if it is later. A decision from an earlier spec must
 * not be written onto a later version.
 */
export function storedIn({ written }: StatusMemory, cached: ObservedGatewaySync | undefined) {
  return cached && written && isLater(written, cached) ? written : cached;
}

/** Returns the resource for the next decision, ignoring changes of its status by other writers. */
export function latestIn(memory: StatusMemory, cached: ObservedGatewaySync | undefined) {
  const stored = storedIn(memory, cached);
  const { desired } = memory;
  return stored && desired?.uid === stored.uid ? { ...stored, status: desired.status } : stored;
}

export const beginWrite = (memory: StatusMemory): StatusMemory => ({ ...memory, isWriting: true });

/** Maximum number of remembered writes without a response, if the API server keeps losing responses. */
const MAX_SENT = 4;

/** A patch was sent. */
export const noteSent = (memory: StatusMemory, status: GatewaySyncStatus): StatusMemory => ({
  ...memory,
  sent: [...(memory.sent ?? []), status].slice(-MAX_SENT),
});

/** The API server refused the last one. */
export const noteRefused = (memory: StatusMemory): StatusMemory => ({ ...memory, sent: memory.sent?.slice(0, -1) });

/** The stored status is the decided one. */
export const noteWritten = (memory: StatusMemory, written?: ObservedGatewaySync, now?: number): StatusMemory => ({
  ...memory,
  desired: undefined,
  sent: undefined,
  hasDecided: true,
  ...(written && { written }),
  ...(written && now !== undefined && { writtenAt: now }),
});

/** The write ended; `seen` is the version that the watch delivered in the meantime. */
export function endWrite(memory: StatusMemory, seen: ObservedGatewaySync | undefined): MemoryUpdate {
  const { written } = memory;
  if (!seen || !written || isLater(written, seen)) return { memory, isForeign: false };
  return judge({ ...memory, written: undefined }, written, seen);
}

/** Handles a version from the watch; drops a write that isn't later. */
export function noteWatched(
  memory: StatusMemory,
  object: ObservedGatewaySync,
  previous: Written | undefined,
): MemoryUpdate {
  const { written } = memory;
  if (memory.isWriting || (written && isLater(written, object))) return { memory, isForeign: false };
  const known = written ?? previous;
  const next = written ? { ...memory, written: undefined } : memory;
  return known ? judge(next, known, object) : { memory: next, isForeign: false };
}

/**
 * Whether a status that was decided from `before` can be written onto `now`. If the status differs (because of the
 * previous leader, or a patch whose response was lost), that must be considered first. A new resource of the same name
 * needs its own decision.
 */
export function stillApplies(
  status: GatewaySyncStatus,
  before: ObservedGatewaySync,
  now: ObservedGatewaySync,
): boolean {
  if (before.uid !== now.uid || !isEqual(before.status, now.status)) return false;
  // Which gateways a rollout admits depends on user requests as well.
  return isEqual(before.status.rollout, status.rollout) || !hasNewRequest(before, now);
}

/** The new facts, and whether another writer changed a status that has to be repaired. */
export interface MemoryUpdate {
  memory: StatusMemory;
  isForeign: boolean;
}

function judge(memory: StatusMemory, known: Written, seen: ObservedGatewaySync): MemoryUpdate {
  // It was stored, but the response was lost.
  if (known.uid === seen.uid && memory.sent?.some((sent) => isEqual(sent, seen.status)))
    return { memory: noteWritten(memory, undefined), isForeign: false };
  const isOurs =
    !memory.hasDecided ||
    known.uid !== seen.uid ||
    known.resourceVersion === seen.resourceVersion ||
    isEqual(known.status, seen.status);
  if (isOurs) return { memory, isForeign: false };
  const { uid, status } = known;
  return { memory: memory.desired?.uid === uid ? memory : { ...memory, desired: { uid, status } }, isForeign: true };
}

const hasNewRequest = (before: ObservedGatewaySync, now: ObservedGatewaySync): boolean =>
  before.generation !== now.generation || !isEqual(before.orders ?? {}, now.orders ?? {});

/** A version of an earlier resource of the same name is never later. */
function isLater(written: Written, seen: ObservedGatewaySync): boolean {
  return written.uid === seen.uid && BigInt(written.resourceVersion) > BigInt(seen.resourceVersion);
}
