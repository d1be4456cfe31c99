import { ALL, isWithin } from '../../shared/domain/rollout/waves.ts';
import { amountOf } from './admission.ts';
import type { Facts, WaveFacts } from './facts.ts';
import type { RolloutGateway } from './rollout-input.ts';

/** Slots of a wave; `maxConcurrent` sets their number. */
export interface Slots {
  /** Gateways that occupy a slot. */
  takenBy: RolloutGateway[];
  /** The last key that can have the release now: unchanged if no more can, or `all`. */
  admitted: string;
}

/**
 * A gateway with the release occupies a slot until it is verified or has failed. One that isn't waited for (on a lost
 * node, or created later and not starting) frees its slot after the deadline. Gateways that start together therefore
 * never get a commit all at once. Paused and unchanged gateways occupy no slot, and get the release when all others
 * have it.
 */
export function slotsOf({ index, entry, counted, members, awaited }: WaveFacts, facts: Facts): Slots {
  const { rollout, input, verified } = facts;
  const { failures = [], startedAt, admittedAt = startedAt } = rollout;
  const { spec, deadlineMs, now } = input;
  const { admitted: before } = entry;
  const sorted = counted.toSorted((a, b) => (a.key < b.key ? -1 : 1));
  const isAwaited = new Set(awaited);
  const isOverdue = (gateway: RolloutGateway) => {
    if (isAwaited.has(gateway)) return false;
    const { notReadySince, createdAt, key } = gateway;
    const since = isWithin(key, before) ? Math.max(createdAt, Date.parse(admittedAt)) : now;
    return now >= (notReadySince ?? since) + deadlineMs;
  };
  const isBusy = (gateway: RolloutGateway) =>
    !verified.has(gateway) && !failures.includes(gateway.name) && !isOverdue(gateway);
  const inside = sorted.filter(({ key }) => isWithin(key, before));
  const takenBy = inside.filter(isBusy);
  const limit = spec.waves?.[index]?.maxConcurrent;
  let free = (limit === undefined ? sorted.length : amountOf(limit, sorted.length)) - takenBy.length;
  let admitted = before;
  for (const gateway of sorted.slice(inside.length)) {
    if (isBusy(gateway)) free--;
    if (free < 0) return { takenBy, admitted };
    admitted = gateway.key;
  }
  const isBehind = ({ key }: RolloutGateway) => !isWithin(key, admitted);
  // A gateway that appears while others are in progress also waits for a slot.
  const canBeAll = !sorted.some(isBusy) || (limit === undefined && !members.some(isBehind));
  return { takenBy, admitted: canBeAll ? ALL : admitted };
}
