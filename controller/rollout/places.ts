import type { RolloutStatus } from '../../shared/api/rollout.ts';
import { earliest } from '../../shared/domain/duration.ts';
import { ALL, isWithin, NOBODY } from '../../shared/domain/waves.ts';
import { amountOf } from './admission.ts';
import type { RolloutGateway } from './rollout-input.ts';
import type { Context } from './standing.ts';

/** The places of a wave, of which `maxConcurrent` says how many there are. */
export interface Places {
  /** Who takes one. */
  takenBy: RolloutGateway[];
  /** When the next of those that nobody waits for frees its place, in milliseconds since the epoch. */
  nextFreeAt: number | undefined;
  /** The last key that may be let in now; what was let in before where that is nobody more, or `all`. */
  admitted: string;
}

/**
 * Who is under way takes a place: who is let in and neither verified nor failed. One that is waited for frees it when it
 * fails; any other, such as one whose node is gone, or that came later and does not start, after as long a time. So those
 * that start together never get a commit all at once. Those that rest take none, and are let in when all others have it.
 */
export function placesOf(rollout: RolloutStatus, index: number, { standing, input }: Context): Places {
  const { failures = [], startedAt, admittedAt = startedAt, admission } = rollout;
  const { spec, deadlineMs, now } = input;
  const before = admission[index]?.admitted ?? NOBODY;
  const { counted = [], present = [], awaited = [] } = standing.waves[index] ?? {};
  const members = counted.toSorted((a, b) => (a.key < b.key ? -1 : 1));
  const isAwaited = new Set(awaited);
  const freeAt = (gateway: RolloutGateway) => {
    if (isAwaited.has(gateway)) return undefined;
    const { notReadySince, createdAt, key } = gateway;
    const since = isWithin(key, before) ? Math.max(createdAt, Date.parse(admittedAt)) : now;
    return (notReadySince ?? since) + deadlineMs;
  };
  const isBusy = (gateway: RolloutGateway) =>
    !standing.verified.has(gateway) &&
    !failures.includes(gateway.name) &&
    (freeAt(gateway) ?? Number.POSITIVE_INFINITY) > now;
  const inside = members.filter(({ key }) => isWithin(key, before));
  const takenBy = inside.filter(isBusy);
  // Who is to be let in, and has not been ready for a while, takes none after that time either.
  const waiting = members.filter((gateway) => gateway.notReadySince !== undefined && isBusy(gateway));
  const nextFreeAt = earliest(...[...takenBy, ...waiting].map(freeAt));
  const { maxConcurrent } = spec.waves?.[index] ?? {};
  let free = (maxConcurrent === undefined ? members.length : amountOf(maxConcurrent, members.length)) - takenBy.length;
  let admitted = before;
  for (const gateway of members.slice(inside.length)) {
    if (isBusy(gateway)) free--;
    if (free < 0) return { takenBy, nextFreeAt, admitted };
    admitted = gateway.key;
  }
  const isBehind = ({ isResting, key }: RolloutGateway) => isResting && !isWithin(key, admitted);
  // Who comes while others are under way waits for a place, too.
  const mayBeAll = !members.some(isBusy) || (maxConcurrent === undefined && !present.some(isBehind));
  return { takenBy, nextFreeAt, admitted: mayBeAll ? ALL : admitted };
}
