import type { RolloutStatus } from '../../shared/api/rollout.ts';
import { formatDuration } from '../../shared/domain/duration.ts';
import { ALL } from '../../shared/domain/waves.ts';
import { named } from './failure-messages.ts';
import { isFirstTrial, placesOf } from './places.ts';
import type { Context } from './standing.ts';

/** Describes which gateways of a wave the rollout waits for. */
export function progressOf(rollout: RolloutStatus, index: number, context: Context): string {
  const wave = rollout.admission[index]?.wave;
  const { areInProgress, names: holders } = holdersIn(rollout, index, context);
  const skipped = skippedIn(context, index);
  const isIdle = context.standing.waves[index]?.isIdle;
  if (areInProgress || (holders.length > 0 && skipped.length === 0))
    return `waiting for ${named(holders)} in wave ${wave} since ${progressSince(rollout, holders)}${trialText(rollout, index, context)}${skippedText(rollout, context)}`;
  if (skipped.length > 0)
    return `waiting for one of ${named(skipped)} to be ready in wave ${wave} since ${sinceOf(rollout)}; none was ready before the rollout began, so the rollout can't be verified${isIdle ? endText(context) : ''}`;
  return `waiting for a replacement gateway in wave ${wave} since ${sinceOf(rollout)}; no gateway is left to verify the rollout`;
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
 * Returns the gateways that block a wave: admitted ones in progress, else those that occupy its places, else those that
 * aren't admitted yet, else unhealthy ones that it doesn't wait for, which may neither finish nor fail.
 */
export function holdersIn(rollout: RolloutStatus, index: number, { standing, input }: Context) {
  const { waves, admitted } = standing;
  const { pending = [], unhealthy = [], isDone = true, isIdle = false } = waves[index] ?? {};
  const isAllIn = rollout.admission[index]?.admitted === ALL;
  const takenBy = isAllIn ? [] : placesOf(rollout, index, { standing, input }).takenBy;
  const found = [pending.filter((gateway) => admitted.has(gateway)), takenBy, pending];
  const holders = isIdle ? undefined : found.find((gateways) => gateways.length > 0);
  return {
    areInProgress: holders !== undefined,
    names: (holders ?? (isDone ? [] : unhealthy)).map(({ name }) => name),
  };
}

/** Describes why one gateway goes first, if it does. */
function trialText(rollout: RolloutStatus, index: number, { input }: Context): string {
  const hasLimit = input.spec.waves?.[index]?.maxConcurrent !== undefined;
  return !hasLimit && isFirstTrial(rollout, index)
    ? '; one gateway goes first, because the earlier waves are unchanged and could not try this commit'
    : '';
}

/** Describes the end of a wave whose other gateways are unchanged. */
const endText = ({ input }: Pick<Context, 'input'>): string =>
  `. The wave ends after ${formatDuration(input.deadlineMs)}`;

/** Describes the wait for a gateway in a wave without one that counts. */
export function absenceText(rollout: RolloutStatus, index: number, { standing, input }: Context): string {
  const { wave = '', gateways } = rollout.admission[index] ?? {};
  const { present = [], isIdle } = standing.waves[index] ?? {};
  if (isIdle)
    return `waiting for a gateway in wave ${wave} since ${sinceOf(rollout)}; its gateways that the commit changes are gone or paused, or are no longer changed${endText({ input })}`;
  const rests = present.length > 0;
  const isGone = !gateways ? 'it has none yet' : 'all of its gateways are gone';
  const reason = rests ? 'all of its gateways are paused or in a dry run' : isGone;
  const wayOut = wave === 'rest' ? '' : `. If you expect none, remove ${wave} from spec.rollout.waves`;
  return `waiting for a gateway in wave ${wave} since ${sinceOf(rollout)}; ${reason}, so the rollout can't be verified${wayOut}`;
}

/** Lists gateways that weren't ready before, and waves that were passed over. */
export function skippedText(rollout: RolloutStatus, context: Context): string {
  const { index = 0 } = context.standing;
  const skipped = skippedIn(context, index);
  const passedOver = rollout.admission.slice(0, index).filter(({ gateways }) => !gateways);
  const empty = passedOver.flatMap(({ wave, isUnchanged }) => (isUnchanged ? [] : wave));
  const unchanged = passedOver.flatMap(({ wave, isUnchanged }) => (isUnchanged ? wave : []));
  const parts = [
    skipped.length > 0 ? `; skipped because not ready before the rollout: ${named(skipped)}` : '',
    unchanged.length > 0 ? `; waves without changes: ${named(unchanged)}` : '',
    empty.length > 0 ? `; waves without gateways: ${named(empty)}` : '',
  ];
  return parts.join('');
}

const skippedIn = ({ standing: { waves } }: Context, index: number): string[] =>
  (waves[index]?.skipped ?? []).map(({ name }) => name);
