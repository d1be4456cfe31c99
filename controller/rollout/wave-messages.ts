import type { RolloutStatus } from '../../shared/api/rollout.ts';
import { ALL } from '../../shared/domain/rollout/waves.ts';
import { formatDuration } from '../../shared/domain/text/duration.ts';
import { hadGateways } from './admission.ts';
import { waitBefore } from './approval.ts';
import type { Facts, WaveFacts } from './facts.ts';
import { slotsOf } from './slots.ts';
import { listed, named, namesOf } from './texts.ts';

/** Describes which gateways of a wave the rollout waits for. */
export function progressText(facts: Facts, wave: WaveFacts): string {
  const { rollout } = facts;
  const { areInProgress, names: holders } = holdersIn(facts, wave);
  const unready = namesOf(wave.unready);
  const since = `in wave ${wave.entry.wave} since`;
  if (areInProgress || (holders.length > 0 && unready.length === 0))
    return `waiting for ${named(holders)} ${since} ${progressSince(rollout, holders)}${passedText(facts)}`;
  if (unready.length > 0)
    return `waiting for one of ${named(unready)} to be ready ${since} ${sinceOf(rollout)}; none was ready before the rollout began, so the rollout can't be verified${endText(wave, facts)}`;
  return `waiting for a replacement gateway ${since} ${sinceOf(rollout)}; no gateway is left to verify the rollout`;
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
export function holdersIn(facts: Facts, wave: WaveFacts): { areInProgress: boolean; names: string[] } {
  const { pending, unhealthy, isDone, awaited, unready, entry } = wave;
  if (awaited.length === 0 && unready.length > 0) return { areInProgress: false, names: namesOf(unready) };
  const takenBy = entry.admitted === ALL ? [] : slotsOf(wave, facts).takenBy;
  const found = [pending.filter((gateway) => facts.released.has(gateway)), takenBy, pending];
  const holders = found.find((gateways) => gateways.length > 0);
  return { areInProgress: holders !== undefined, names: namesOf(holders ?? (isDone ? [] : unhealthy)) };
}

/** Describes the end of a wave with unchanged gateways. */
function endText({ hasUnchanged, index, isEachReleased }: WaveFacts, facts: Facts): string {
  if (!hasUnchanged) return '';
  const { rollout, input } = facts;
  const mustApprove = !isEachReleased && waitBefore(index, rollout, facts) === 'approval';
  const approval = mustApprove ? `, and an approval of the SyncRelease ${rollout.release}` : '';
  return `. The wave ends after ${formatDuration(input.deadlineMs)}${approval}`;
}

/** Describes the wait for a gateway in a wave without one that counts. */
export function absenceText(facts: Facts, absent: WaveFacts): string {
  const { members, entry } = absent;
  const { wave, gateways } = entry;
  const waiting = `waiting for a gateway in wave ${wave} since ${sinceOf(facts.rollout)}`;
  const end = endText(absent, facts);
  if (end) return `${waiting}; its gateways that the commit changes are gone or paused, or are no longer changed${end}`;
  const isGone = !gateways ? 'it has none yet' : 'all of its gateways are gone';
  const reason = members.length > 0 ? 'all of its gateways are paused or in a dry run' : isGone;
  const wayOut = wave === 'rest' ? '' : `. If you expect none, remove ${wave} from spec.rollout.waves`;
  return `${waiting}; ${reason}, so the rollout can't be verified${wayOut}`;
}

/** Lists gateways of the current wave that weren't ready before, and earlier waves that required no verified gateway. */
export function passedText({ rollout, wave }: Facts): string {
  const passed = rollout.admission.slice(0, wave?.index ?? 0).filter((entry) => !hadGateways(entry));
  const empty = passed.flatMap((entry) => (entry.isUnchanged ? [] : entry.wave));
  const unchanged = passed.flatMap((entry) => (entry.isUnchanged ? entry.wave : []));
  return [
    listed('; skipped because not ready before the rollout: ', namesOf(wave?.unready)),
    listed('; waves without changes: ', unchanged),
    listed('; waves without gateways: ', empty),
  ].join('');
}
