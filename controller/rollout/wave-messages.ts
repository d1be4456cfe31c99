import type { RolloutStatus } from '../../shared/api/rollout.ts';
import { ALL } from '../../shared/domain/rollout/waves.ts';
import { formatDuration } from '../../shared/domain/text/duration.ts';
import type { Facts } from './facts.ts';
import type { RolloutGateway } from './rollout-input.ts';
import { slotsOf } from './slots.ts';
import { named, namesOf } from './texts.ts';

/** Describes which gateways of a wave the rollout waits for. */
export function progressText(facts: Facts, index: number): string {
  const { rollout, waves } = facts;
  const { wave } = rollout.admission[index] ?? {};
  const { areInProgress, names: holders } = holdersIn(facts, index);
  const { members = [] } = waves[index] ?? {};
  const unready = namesOf(waves[index]?.unready);
  if (areInProgress || (holders.length > 0 && unready.length === 0))
    return `waiting for ${named(holders)} in wave ${wave} since ${progressSince(rollout, holders)}${passedText(facts)}`;
  const since = sinceOf(rollout);
  if (unready.length > 0)
    return `waiting for one of ${named(unready)} to be ready in wave ${wave} since ${since}; none was ready before the rollout began, so the rollout can't be verified${endText(members, facts)}`;
  return `waiting for a replacement gateway in wave ${wave} since ${since}; no gateway is left to verify the rollout`;
}

/** When the first of some gateways began to be in progress. */
function progressSince(
  { startedAt, admittedAt = startedAt, inProgress = [] }: RolloutStatus,
  names: readonly string[],
) {
  const times = inProgress.flatMap(({ name, since }) => (names.includes(name) ? since : []));
  return times.sort()[0] ?? admittedAt;
}

const sinceOf = ({ waveStartedAt, startedAt }: RolloutStatus): string => waveStartedAt ?? startedAt;

/**
 * Returns the gateways that block a wave: those with the release that are in progress, else those that occupy its slots,
 * else those without it, else unhealthy ones that it doesn't wait for, which may neither finish nor fail.
 */
export function holdersIn(facts: Facts, index: number): { areInProgress: boolean; names: string[] } {
  const { rollout, waves, released } = facts;
  const wave = waves[index];
  if (!wave) return { areInProgress: false, names: [] };
  const { pending, unhealthy, isDone, awaited, unready } = wave;
  if (awaited.length === 0 && unready.length > 0) return { areInProgress: false, names: namesOf(unready) };
  const takenBy = rollout.admission[index]?.admitted === ALL ? [] : slotsOf(wave, facts).takenBy;
  const found = [pending.filter((gateway) => released.has(gateway)), takenBy, pending];
  const holders = found.find((gateways) => gateways.length > 0);
  return { areInProgress: holders !== undefined, names: namesOf(holders ?? (isDone ? [] : unhealthy)) };
}

/** Describes the end of a wave with unchanged gateways. */
const endText = (members: readonly RolloutGateway[], { unchanged, input }: Facts): string =>
  members.some((gateway) => unchanged.has(gateway)) ? `. The wave ends after ${formatDuration(input.deadlineMs)}` : '';

/** Describes the wait for a gateway in a wave without one that counts. */
export function absenceText(facts: Facts, index: number): string {
  const { rollout, waves } = facts;
  const { wave = '', gateways } = rollout.admission[index] ?? {};
  const { members = [] } = waves[index] ?? {};
  const waiting = `waiting for a gateway in wave ${wave} since ${sinceOf(rollout)}`;
  const end = endText(members, facts);
  if (end) return `${waiting}; its gateways that the commit changes are gone or paused, or are no longer changed${end}`;
  const isGone = !gateways ? 'it has none yet' : 'all of its gateways are gone';
  const reason = members.length > 0 ? 'all of its gateways are paused or in a dry run' : isGone;
  const wayOut = wave === 'rest' ? '' : `. If you expect none, remove ${wave} from spec.rollout.waves`;
  return `${waiting}; ${reason}, so the rollout can't be verified${wayOut}`;
}

/** Lists gateways of the current wave that weren't ready before, and earlier waves that required no verified gateway. */
export function passedText({ rollout, wave }: Facts): string {
  const unready = namesOf(wave?.unready);
  const passed = rollout.admission.slice(0, wave?.index ?? 0).filter(({ gateways }) => !gateways);
  const empty = passed.flatMap((entry) => (entry.isUnchanged ? [] : entry.wave));
  const unchanged = passed.flatMap((entry) => (entry.isUnchanged ? entry.wave : []));
  const parts = [
    unready.length > 0 ? `; skipped because not ready before the rollout: ${named(unready)}` : '',
    unchanged.length > 0 ? `; waves without changes: ${named(unchanged)}` : '',
    empty.length > 0 ? `; waves without gateways: ${named(empty)}` : '',
  ];
  return parts.join('');
}
