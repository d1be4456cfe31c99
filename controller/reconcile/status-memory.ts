import type { GatewaySyncStatus } from '../../shared/api/gateway-sync-status.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import { isEqual } from './merge-patch.ts';

export type Written = Pick<ObservedGatewaySync, 'uid' | 'resourceVersion' | 'status'>;

/** What a process knows of one status that it writes. */
export interface StatusMemory {
  /** What was written last, until the watch has brought it back. */
  written?: ObservedGatewaySync | undefined;
  /** When that was, in milliseconds of a monotonic clock. */
  writtenAt?: number;
  /** What the status is to be, while somebody else's is stored. */
  rightful?: Pick<Written, 'uid' | 'status'> | undefined;
  /** What was sent, and nobody has said what came of it. */
  sent?: readonly GatewaySyncStatus[] | undefined;
  /** Whether the status was ever what it decided: before that, changes are the last leader's. */
  hasDecided?: boolean;
  /** While a write is under way nobody knows yet whose a change is. */
  isWriting?: boolean;
}

/** A watch brings back within milliseconds what was written, and within minutes where it fell silent, in milliseconds. */
const BROUGHT_BACK_MS = 4 * 60_000;

/** What the watch has not brought back by now is stored no more: the API server was restored from a backup. */
export function expireWritten(memory: StatusMemory, now: number): StatusMemory {
  const { written, writtenAt = now } = memory;
  return written && now - writtenAt > BROUGHT_BACK_MS
    ? noteSent({ ...memory, written: undefined }, written.status)
    : memory;
}

/**
 * The cached resource, or what it was written on where that is later: whoever decides by an earlier spec must not write
 * for a version in which there is a later one.
 */
export function storedIn({ written }: StatusMemory, cached: ObservedGatewaySync | undefined) {
  return cached && written && isLater(written, cached) ? written : cached;
}

/** The resource from which the next decision is made: what somebody else made of its status counts for nothing. */
export function latestIn(memory: StatusMemory, cached: ObservedGatewaySync | undefined) {
  const stored = storedIn(memory, cached);
  const { rightful } = memory;
  return stored && rightful?.uid === stored.uid ? { ...stored, status: rightful.status } : stored;
}

export const beginWrite = (memory: StatusMemory): StatusMemory => ({ ...memory, isWriting: true });

/** Maximum number of remembered writes without a response, if the API server keeps losing responses. */
const MAX_SENT = 4;

/** A patch is on its way. */
export const noteSent = (memory: StatusMemory, status: GatewaySyncStatus): StatusMemory => ({
  ...memory,
  sent: [...(memory.sent ?? []), status].slice(-MAX_SENT),
});

/** The API server has refused the last one. */
export const noteRefused = (memory: StatusMemory): StatusMemory => ({ ...memory, sent: memory.sent?.slice(0, -1) });

/** What is stored is what it is to be. */
export const noteWritten = (memory: StatusMemory, written?: ObservedGatewaySync, now?: number): StatusMemory => ({
  ...memory,
  rightful: undefined,
  sent: undefined,
  hasDecided: true,
  ...(written && { written }),
  ...(written && now !== undefined && { writtenAt: now }),
});

/** The write is over, and `seen` is what the watch brought meanwhile. */
export function endWrite(memory: StatusMemory, seen: ObservedGatewaySync | undefined, mayWrite: boolean): MemoryUpdate {
  const { written } = memory;
  if (!seen || !written || isLater(written, seen)) return { memory, isForeign: false };
  return judge({ ...memory, written: undefined }, { known: written, seen, mayWrite });
}

/** The watch brought a resource: what is no later than that is dropped. */
export function noteWatched(
  memory: StatusMemory,
  { object, previous, mayWrite }: { object: ObservedGatewaySync; previous: Written | undefined; mayWrite: boolean },
): MemoryUpdate {
  const { written } = memory;
  if (memory.isWriting || (written && isLater(written, object))) return { memory, isForeign: false };
  const known = written ?? previous;
  const next = written ? { ...memory, written: undefined } : memory;
  return known ? judge(next, { known, seen: object, mayWrite }) : { memory: next, isForeign: false };
}

/**
 * Whether a status may be written on what there is now, though it was decided by what there was before. Where the status
 * is another one, by the last leader or by a patch whose answer was lost, that has to be taken into account first. A new
 * resource of the same name needs its own decision.
 */
export function stillApplies(
  status: GatewaySyncStatus,
  before: ObservedGatewaySync,
  now: ObservedGatewaySync,
): boolean {
  if (before.uid !== now.uid || !isEqual(before.status, now.status)) return false;
  // Which gateways a rollout admits depends on user requests as well.
  return isEqual(before.status.rollout, status.rollout) || !isAskedElse(before, now);
}

/** What a process knows now, and whether somebody else changed a status that has to be repaired. */
export interface MemoryUpdate {
  memory: StatusMemory;
  isForeign: boolean;
}

function judge(
  memory: StatusMemory,
  { known, seen, mayWrite }: { known: Written; seen: ObservedGatewaySync; mayWrite: boolean },
): MemoryUpdate {
  // It was stored all the same, and its answer was lost.
  if (known.uid === seen.uid && memory.sent?.some((sent) => isEqual(sent, seen.status)))
    return { memory: noteWritten(memory, undefined), isForeign: false };
  const isOurs =
    !memory.hasDecided ||
    !mayWrite ||
    known.uid !== seen.uid ||
    known.resourceVersion === seen.resourceVersion ||
    isEqual(known.status, seen.status);
  if (isOurs) return { memory, isForeign: false };
  const { uid, status } = known;
  return { memory: memory.rightful?.uid === uid ? memory : { ...memory, rightful: { uid, status } }, isForeign: true };
}

const isAskedElse = (before: ObservedGatewaySync, now: ObservedGatewaySync): boolean =>
  before.generation !== now.generation || !isEqual(before.orders ?? {}, now.orders ?? {});

/** A version of an earlier resource of the same name is never later. */
function isLater(written: Written, seen: ObservedGatewaySync): boolean {
  return written.uid === seen.uid && BigInt(written.resourceVersion) > BigInt(seen.resourceVersion);
}
