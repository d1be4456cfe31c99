import { BOUNDS } from '../../shared/api/bounds.ts';
import type { RolloutStatus, RolloutWait } from '../../shared/api/rollout.ts';
import { formatDuration } from '../../shared/domain/duration.ts';
import { withoutUndefined } from '../../shared/domain/objects.ts';
import { GIVEN_UP } from '../../shared/domain/releases.ts';
import { ALL, NOBODY } from '../../shared/domain/waves.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import { lateAt } from './failures.ts';
import { failureOf, named } from './given-up-words.ts';
import { isBack, notBack } from './judge-gateway.ts';
import { iso } from './lifecycle.ts';
import { placesOf } from './places.ts';
import type { RolloutInput, RolloutState, Wait } from './rollout-input.ts';
import type { Context, Standing } from './standing.ts';

/** Adds to a state what people read of it: counts, a few words, and one sentence. */
export function describe({ rollout, history }: RolloutState, wait: Wait, context: Context): RolloutState {
  const counted = { ...rollout, ...countsOf(rollout, context.standing) };
  const waitsFor = waitsForIn(counted, wait, context);
  const waitedSince = waitsFor === rollout.waitsFor ? rollout.waitsSince : undefined;
  const waitsSince = waitsFor && (waitedSince ?? iso(context.input.now));
  const waiting = { ...counted, waitsFor, waitsSince };
  const parts = [messageOf(waiting, wait, context), ...ignoredOrders(waiting)];
  const message = parts.join('; ').slice(0, BOUNDS.message).toWellFormed();
  const summary = summaryOf(waiting, context);
  return { history, rollout: withoutUndefined({ ...waiting, summary, message: message || undefined }) };
}

const WAITS: Partial<Record<Wait['kind'], RolloutWait>> = {
  approval: 'Approval',
  window: 'Window',
  outdated: 'Agents',
  givenUp: 'Retry',
  nobody: 'Gateways',
};

/**
 * What must come from outside before anything moves. Gateways that are under way come by themselves, or fail; but some
 * do neither for longer than the deadline and the soak, since they are well now and then.
 */
function waitsForIn(rollout: RolloutStatus, wait: Wait, context: Context): RolloutWait | undefined {
  const isLate = context.input.now >= (lateAt(rollout, context.input) ?? Number.POSITIVE_INFINITY);
  if (wait.kind === 'soak') return isLate ? 'Gateways' : undefined;
  if (wait.kind !== 'gateways') return WAITS[wait.kind];
  return isLate || !holdersIn(rollout, wait.index, context).areUnderWay ? 'Gateways' : undefined;
}

/** When all have it the counts stay as they were, so that nothing has to be written while pods come and go. */
function countsOf(rollout: RolloutStatus, { counted, admitted, verified }: Standing) {
  const { phase, failures = [], total } = rollout;
  if ((phase === 'Complete' || phase === 'RolledBack') && total > 0 && rollout.verified >= total) return {};
  const isBackwards = phase === 'RollingBack' || phase === 'RolledBack';
  const well = isBackwards ? counted.filter((gateway) => isBack(gateway, rollout)).length : verified.size;
  return {
    total: counted.length,
    admitted: isBackwards ? 0 : admitted.size,
    verified: well,
    failed: failures.length,
  };
}

function summaryOf(rollout: RolloutStatus, { standing, input }: Context): string {
  const { phase, wave, verified, total, nextCommit } = rollout;
  const next = nextCommit ? `; ${short(nextCommit)} waits` : '';
  const { index = -1, waves } = standing;
  const { counted = [] } = waves[index] ?? {};
  const where = `${wave} ${counted.filter((gateway) => standing.verified.has(gateway)).length}/${counted.length}`;
  switch (phase) {
    case 'Complete':
      return `complete${next}`;
    case 'RolledBack':
      return `rolled back${next}`;
    case 'RollingBack':
      return `rolling back ${verified}/${total}${next}`;
    case 'Stopped':
      return `stopped${wave === undefined ? '' : ` in ${where}`}${next}`;
    case 'Soaking':
      return `${where}, soaking ${formatDuration(input.soakMs[index] ?? 0)}${next}`;
    case 'AwaitingApproval':
      return `${where}, waiting for approval${next}`;
    case 'AwaitingWindow':
      return `${where}, waiting for a window${next}`;
    case 'Progressing':
      return `${where}${next}`;
  }
}

const short = (commit: string): string => commit.slice(0, 8);

function messageOf(rollout: RolloutStatus, wait: Wait, context: Context): string {
  const { nextCommit, commit, phase } = rollout;
  if (wait.kind === 'outdated')
    return `nobody is admitted${sinceWhen(rollout)}: the agents of ${named(wait.pods)} do not know rollouts, and follow the newest commit: recreate these pods, so that they get the agent of this version`;
  if (nextCommit === undefined) return phaseOf(rollout, wait, context);
  const next = `commit ${nextCommit} ${nextOf(rollout, wait, context)}`;
  if (phase === 'Complete') return next;
  return `${next}; ${GIVEN_UP.includes(phase) ? phaseOf(rollout, wait, context) : `commit ${commit} goes no further`}`;
}

function nextOf(rollout: RolloutStatus, { kind }: Wait, { input }: Context): string {
  const { nextCommit: commit = '' } = rollout;
  if (kind === 'givenUp')
    return `failed or was taken back, and is not tried again until somebody sets sync.io/retry-rollout: ${commit}, or another commit comes`;
  if (kind === 'window') return `waits${sinceWhen(rollout)}: ${input.window.message}`;
  return kind === 'approval'
    ? `waits${sinceWhen(rollout)}: ${approvalOf(commit, input)}`
    : 'waits: the newest commit is being resolved';
}

function phaseOf(rollout: RolloutStatus, wait: Wait, context: Context): string {
  const { phase, wave, commit, stableCommit, failures = [] } = rollout;
  const why = failures.length > 0 ? `, since ${commit} ${failureOf(rollout)}` : '';
  switch (phase) {
    case 'Complete':
      return `every gateway may have commit ${commit}`;
    case 'Stopped':
      return `commit ${commit} ${failureOf(rollout)}${placeOf(rollout)}: no further gateway gets it until somebody sets sync.io/rollback or sync.io/retry-rollout, or a newer commit comes`;
    case 'RollingBack':
      return `all gateways go back to commit ${stableCommit}${why}: waiting for ${named(notBack(rollout, context.input.gateways).map(({ name }) => name))}, since ${rollout.startedAt}`;
    case 'RolledBack':
      return `${backOf(rollout)} back on commit ${stableCommit}${why}: ${short(commit)} is not tried again until somebody sets sync.io/retry-rollout, or a newer commit comes${restingWords(rollout, context)}`;
    case 'Soaking':
      return `the wave ${wave} is verified, and soaks since ${rollout.soakStartedAt}${leftOut(rollout, context)}`;
    case 'AwaitingApproval':
      return `the wave ${wave} waits${sinceWhen(rollout)}: ${approvalOf(commit, context.input)}`;
    case 'AwaitingWindow':
      return `the wave ${wave} waits${sinceWhen(rollout)}: ${context.input.window.message}`;
    case 'Progressing':
      if (wait.kind === 'nobody') return absenceIn(rollout, wait.index, context);
      return progressOf(rollout, wait.kind === 'gateways' ? wait.index : (context.standing.index ?? 0), context);
  }
}

const sinceWhen = ({ waitsSince }: RolloutStatus): string => (waitsSince === undefined ? '' : ` since ${waitsSince}`);

function approvalOf(commit: string, { approved }: RolloutInput): string {
  const isOld = approved === commit;
  const said = isOld ? ': it was set before spec.sync was edited, so remove it first' : `, which says ${approved} now`;
  const other = approved === undefined ? '' : said;
  return `it needs approval: set the annotation sync.io/approve: ${commit}${other}`;
}

/** By other waves nobody is let in any more. */
const placeOf = ({ wave, admission }: RolloutStatus): string =>
  wave === undefined && admission.every(({ admitted }) => admitted === NOBODY)
    ? ', and its waves were edited since, so no gateway has it'
    : ` in the wave ${wave}`;

/** Who was told to rest does not go back either. */
function restingWords({ commit, revision, stableCommit, stableRevision }: RolloutStatus, { input }: Context): string {
  const isStable = commit === stableCommit && revision === stableRevision;
  const names = input.gateways.flatMap(({ isResting, report, name }) =>
    isResting && !isStable && report?.commit === commit && report.revision === revision ? name : [],
  );
  return names.length > 0 ? `; paused or in a dry run with ${short(commit)}: ${named(names)}` : '';
}

const backOf = ({ verified, total }: RolloutStatus): string =>
  verified < total ? `${verified} of ${total} gateways are` : 'the gateways are';

function progressOf(rollout: RolloutStatus, index: number, context: Context): string {
  const { startedAt, admittedAt = startedAt, underWaySince = admittedAt, admission } = rollout;
  const wave = admission[index]?.wave;
  const { areUnderWay, names: holders } = holdersIn(rollout, index, context);
  const skipped = skippedIn(context, index);
  if (areUnderWay || (holders.length > 0 && skipped.length === 0))
    return `the wave ${wave} waits for ${named(holders)}, since ${underWaySince}${leftOut(rollout, context)}`;
  if (skipped.length > 0)
    return `the wave ${wave} waits until one of ${named(skipped)} is ready, since ${sinceOf(rollout)}: none was ready before the rollout began, so the rollout cannot be verified`;
  return `the wave ${wave} waits for a gateway in place of one that is gone, since ${sinceOf(rollout)}: no gateway is left to verify the rollout`;
}

const sinceOf = ({ waveStartedAt, startedAt }: RolloutStatus): string => waveStartedAt ?? startedAt;

/**
 * Who holds a wave up: those that are let in and waited for, else those that take its places, else who is still to come,
 * else those that nobody waits for, and that are not well: these neither come by themselves nor fail.
 */
function holdersIn(rollout: RolloutStatus, index: number, { standing, input }: Context) {
  const { waves, admitted } = standing;
  const { pending = [], unhealthy = [], isDone = true } = waves[index] ?? {};
  const isAllIn = rollout.admission[index]?.admitted === ALL;
  const takenBy = isAllIn ? [] : placesOf(rollout, index, { standing, input }).takenBy;
  const found = [pending.filter((gateway) => admitted.has(gateway)), takenBy, pending];
  const holders = found.find((gateways) => gateways.length > 0);
  return { areUnderWay: holders !== undefined, names: (holders ?? (isDone ? [] : unhealthy)).map(({ name }) => name) };
}

/** A wave that has no gateway that counts. */
function absenceIn(rollout: RolloutStatus, index: number, { standing }: Context): string {
  const { wave = '', gateways } = rollout.admission[index] ?? {};
  const rests = (standing.waves[index]?.present ?? []).length > 0;
  const isGone = !gateways ? 'it has none yet' : 'none of its gateways is there any more';
  const reason = rests ? 'all of its gateways are paused or in a dry run' : isGone;
  const wayOut = wave === 'rest' ? '' : `. If none is to come, take ${wave} out of spec.rollout.waves`;
  return `the wave ${wave} waits for a gateway since ${sinceOf(rollout)}: ${reason}, so the rollout cannot be verified${wayOut}`;
}

/** Whom nobody waits for: gateways that were not ready before, and waves that never had any. */
function leftOut(rollout: RolloutStatus, context: Context): string {
  const { index = 0 } = context.standing;
  const skipped = skippedIn(context, index);
  const empty = rollout.admission.slice(0, index).flatMap(({ wave, gateways }) => (gateways ? [] : wave));
  const parts = [
    skipped.length > 0 ? `; skipped, since not ready before: ${named(skipped)}` : '',
    empty.length > 0 ? `; without gateways: ${named(empty)}` : '',
  ];
  return parts.join('');
}

const skippedIn = ({ standing: { waves } }: Context, index: number): string[] =>
  (waves[index]?.skipped ?? []).map(({ name }) => name);

/** Orders that wait because the resource is paused. */
export function heldOrders(
  { handled = {} }: RolloutStatus,
  { approve, rollback, retry }: NonNullable<ObservedGatewaySync['orders']>,
): string[] {
  const orders: [name: string, ordered: string | undefined, done: string | undefined][] = [
    ['retry-rollout', retry, handled.retry],
    ['rollback', rollback, handled.rollback],
    ['approve', approve, handled.approve],
  ];
  return orders
    .filter(([, ordered, done]) => ordered !== undefined && ordered !== done)
    .map(([name, ordered]) => `sync.io/${name}: ${ordered} waits until the resource is not paused`);
}

function ignoredOrders({ handled: { ignored = [], rollback, retry } = {} }: RolloutStatus): string[] {
  const words = {
    rollback: `sync.io/rollback: ${rollback} had no effect, since status.history had no such commit to go back to`,
    'retry-rollout': `sync.io/retry-rollout: ${retry} had no effect, since no such commit was given up`,
  };
  return ignored.map((order) => words[order]);
}
