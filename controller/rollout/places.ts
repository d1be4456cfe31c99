import type { RolloutStatus } from '../../shared/api/rollout.ts';
import { earliest } from '../../shared/domain/duration.ts';
import { ALL, isWithin, NO_GATEWAY } from '../../shared/domain/waves.ts';
import { amountOf } from './admission.ts';
import type { RolloutGateway } from './rollout-input.ts';
import type { Context, Standing } from './standing.ts';

/** Places of a wave; `maxConcurrent` sets their number. */
export interface Places {
  /** Gateways that occupy a place. */
  takenBy: RolloutGateway[];
  /** When the next gateway that isn't waited for frees its place (ms since the epoch). */
  nextFreeAt: number | undefined;
  /** The last key that can be admitted now: unchanged if no more can, or `all`. */
  admitted: string;
}

/**
 * An admitted gateway occupies a place until it is verified or has failed. One that isn't waited for (on a lost node,
 * or created later and not starting) frees its place after the deadline. Gateways that start together therefore never
 * get a commit all at once. Paused and unchanged gateways occupy no place, and are admitted when all others have the
 * commit.
 */
export function placesOf(rollout: RolloutStatus, index: number, { standing, input }: Context): Places {
  const { failures = [], startedAt, admittedAt = startedAt, admission } = rollout;
  const { spec, deadlineMs, now } = input;
  const before = admission[index]?.admitted ?? NO_GATEWAY;
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
  // A gateway that hasn't been ready for the whole deadline occupies none when it is admitted either.
  const waiting = members.filter((gateway) => gateway.notReadySince !== undefined && isBusy(gateway));
  const nextFreeAt = earliest(...[...takenBy, ...waiting].map(freeAt));
  const limit = spec.waves?.[index]?.maxConcurrent ?? (isFirstTrial(rollout, index) ? 1 : undefined);
  let free = (limit === undefined ? members.length : amountOf(limit, members.length)) - takenBy.length;
  let admitted = before;
  for (const gateway of members.slice(inside.length)) {
    if (isBusy(gateway)) free--;
    if (free < 0) return { takenBy, nextFreeAt, admitted };
    admitted = gateway.key;
  }
  const isBehind = ({ key }: RolloutGateway) => !isWithin(key, admitted);
  // A gateway that appears while others are in progress also waits for a place.
  const mayBeAll = !members.some(isBusy) || (limit === undefined && !present.some(isBehind));
  return { takenBy, nextFreeAt, admitted: mayBeAll ? ALL : admitted };
}

/**
 * Whether no gateway has tried the release yet because it leaves the earlier waves unchanged. One gateway then goes
 * first. The status keeps both facts, because the reports behind them can disappear.
 */
export const isFirstTrial = ({ admission, isTried }: RolloutStatus, index: number): boolean =>
  isTried !== true && admission.slice(0, index).some(({ isUnchanged }) => isUnchanged);

/** Notes which gateway goes first, and whether it is verified; undefined if that is noted already. */
export function noteTrial(
  rollout: RolloutStatus,
  index: number,
  { places, standing }: { places: Places; standing: Standing },
): RolloutStatus | undefined {
  if (!isFirstTrial(rollout, index)) return undefined;
  const busy = places.takenBy.map(({ name }) => name);
  const { trial: before = '' } = rollout;
  const trial = busy.includes(before) ? before : (busy[0] ?? rollout.trial);
  const isVerified = [...standing.verified].some(({ name }) => name === trial);
  if (isVerified) return { ...rollout, trial: undefined, isTried: true };
  return trial === rollout.trial ? undefined : { ...rollout, trial };
}
