import { BOUNDS } from '../../shared/api/bounds.ts';
import type { RolloutStatus, RolloutWait } from '../../shared/api/rollout.ts';
import { formatDuration } from '../../shared/domain/duration.ts';
import { withoutUndefined } from '../../shared/domain/objects.ts';
import { GIVEN_UP } from '../../shared/domain/releases.ts';
import { ALL, NO_GATEWAY } from '../../shared/domain/waves.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import { failureOf, named } from './failure-messages.ts';
import { lateAt } from './failures.ts';
import { isRolledBack, notRolledBack } from './judge-gateway.ts';
import { iso } from './lifecycle.ts';
import { isFirstTrial, placesOf } from './places.ts';
import { everyCommitText, previewText, previewWait } from './preview-messages.ts';
import type { RolloutInput, RolloutState, Wait } from './rollout-input.ts';
import type { Context, Standing } from './standing.ts';

/** Adds the counts, the summary, and the message to a state. */
export function describe({ rollout, history }: RolloutState, wait: Wait, context: Context): RolloutState {
  const counted = { ...rollout, ...countsOf(rollout, context.standing) };
  const waitsFor = waitsForIn(counted, wait, context);
  const waitedSince = waitsFor === rollout.waitsFor ? rollout.waitsSince : undefined;
  const waitsSince = waitsFor && (waitedSince ?? iso(context.input.now));
  const waiting = { ...counted, waitsFor, waitsSince };
  const parts = [messageOf(waiting, wait, context), ...everyCommitText(waiting), ...ignoredOrders(waiting)];
  const message = parts.join('; ').slice(0, BOUNDS.message).toWellFormed();
  const summary = summaryOf(waiting, context);
  return { history, rollout: withoutUndefined({ ...waiting, summary, message: message || undefined }) };
}

const WAITS: Partial<Record<Wait['kind'], RolloutWait>> = {
  approval: 'Approval',
  window: 'Window',
  outdated: 'Agents',
  givenUp: 'Retry',
  noGateway: 'Gateways',
};

/**
 * Returns the cause outside the rollout that it waits for. Gateways in progress finish or fail, but some do neither for
 * longer than deadline and soak, because they are healthy now and then.
 */
function waitsForIn(rollout: RolloutStatus, wait: Wait, context: Context): RolloutWait | undefined {
  const isLate = context.input.now >= (lateAt(rollout, context.input) ?? Number.POSITIVE_INFINITY);
  if (wait.kind === 'soak') return isLate ? 'Gateways' : undefined;
  if (wait.kind !== 'gateways') return WAITS[wait.kind];
  return isLate || !holdersIn(rollout, wait.index, context).areInProgress ? 'Gateways' : undefined;
}

/** If all gateways have the release, the counts don't change, so that no status is written when pods are replaced. */
function countsOf(rollout: RolloutStatus, { counted, admitted, verified }: Standing) {
  const { phase, failures = [], total } = rollout;
  if ((phase === 'Complete' || phase === 'RolledBack') && total > 0 && rollout.verified >= total) return {};
  const isBackwards = phase === 'RollingBack' || phase === 'RolledBack';
  const healthy = isBackwards ? counted.filter((gateway) => isRolledBack(gateway, rollout)).length : verified.size;
  return {
    total: counted.length,
    admitted: isBackwards ? 0 : admitted.size,
    verified: healthy,
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
      if (rollout.previewFailure !== undefined) return `stopped by the preview${next}`;
      return `stopped${wave === undefined ? '' : ` in ${where}`}${next}`;
    case 'Soaking':
      return `${where}, soaking ${formatDuration(input.soakMs[index] ?? 0)}${next}`;
    case 'AwaitingApproval':
      return `${where}, waiting for approval${next}`;
    case 'AwaitingWindow':
      return `${where}, waiting for a window${next}`;
    case 'Previewing':
      return `${rollout.preview ? `previewing ${rollout.preview.reported}/${rollout.preview.total}` : 'preview pending'}${next}`;
    case 'Progressing':
      return `${where}${next}`;
  }
}

const short = (commit: string): string => commit.slice(0, 8);

function messageOf(rollout: RolloutStatus, wait: Wait, context: Context): string {
  const { nextCommit, commit, phase } = rollout;
  if (wait.kind === 'outdated')
    return `waiting for newer agents${sinceText(rollout)}: the agents of ${named(wait.pods)} don't support rollouts and follow the newest commit; recreate these pods`;
  if (nextCommit === undefined) return phaseOf(rollout, wait, context);
  const next =
    wait.kind === 'preview'
      ? previewWait(nextCommit, rollout, context.input)
      : `commit ${nextCommit} ${nextOf(rollout, wait, context)}`;
  if (phase === 'Complete') return next;
  return `${next}; ${GIVEN_UP.includes(phase) ? phaseOf(rollout, wait, context) : `no further gateways get commit ${commit}`}`;
}

function nextOf(rollout: RolloutStatus, { kind }: Wait, { input }: Context): string {
  const { nextCommit: commit = '' } = rollout;
  if (kind === 'givenUp' && input.isSameVersion)
    return `is the version that was rolled back, because its tag was moved; to roll it out, set sync.io/retry-rollout: ${commit}, or push a tag of a newer version`;
  if (kind === 'givenUp')
    return `failed or was rolled back; to retry it, set sync.io/retry-rollout: ${commit}, or push a new commit`;
  if (kind === 'window') return windowWait(rollout, input) + previewText(rollout, input);
  if (kind === 'approval') return approvalWait(rollout, commit, input) + previewText(rollout, input);
  return 'is waiting until the newest commit is resolved';
}

function phaseOf(rollout: RolloutStatus, wait: Wait, context: Context): string {
  const { phase, wave, commit, stableCommit, failures = [] } = rollout;
  const why = failures.length > 0 ? ` because ${commit} ${failureOf(rollout)}` : '';
  switch (phase) {
    case 'Complete':
      return `commit ${commit} is available to all gateways`;
    case 'Stopped':
      if (rollout.previewFailure !== undefined)
        return `commit ${commit} can't be delivered: ${rollout.previewFailure}; no gateway gets it until you set sync.io/retry-rollout, or push a new commit. To roll out such commits, set spec.rollout.previewFailures: Ignore`;
      return `commit ${commit} ${failureOf(rollout)}${waveText(rollout)}; no further gateways get it until you set sync.io/rollback or sync.io/retry-rollout, or push a new commit`;
    case 'RollingBack':
      return `rolling back all gateways to commit ${stableCommit}${why}; waiting for ${named(notRolledBack(rollout, context.input.gateways).map(({ name }) => name))} since ${rollout.startedAt}`;
    case 'RolledBack':
      return `${rolledBackText(rollout)} rolled back to commit ${stableCommit}${why}; to retry ${short(commit)}, set sync.io/retry-rollout: ${commit}, or push a new commit${pausedText(rollout, context)}`;
    case 'Previewing':
      return previewWait(commit, rollout, context.input);
    case 'Soaking':
      return `wave ${wave} is verified and has been soaking since ${rollout.soakStartedAt}${skippedText(rollout, context)}`;
    case 'AwaitingApproval':
      return `wave ${wave} ${approvalWait(rollout, commit, context.input)}`;
    case 'AwaitingWindow':
      return `wave ${wave} ${windowWait(rollout, context.input)}`;
    case 'Progressing':
      if (wait.kind === 'noGateway') return absenceText(rollout, wait.index, context);
      return progressOf(rollout, wait.kind === 'gateways' ? wait.index : (context.standing.index ?? 0), context);
  }
}

const sinceText = ({ waitsSince }: RolloutStatus): string => (waitsSince === undefined ? '' : ` since ${waitsSince}`);

const windowWait = (rollout: RolloutStatus, { window }: RolloutInput): string =>
  `has been waiting${sinceText(rollout)}: ${window.message}`;

function approvalWait(rollout: RolloutStatus, commit: string, input: RolloutInput): string {
  const { approved, approvedRevision } = input;
  const revision = commit === rollout.nextCommit ? input.wanted?.revision : rollout.revision;
  const isEdited = approvedRevision !== undefined && approvedRevision !== revision;
  const isOutdated = approved === commit;
  const why = `, because ${isEdited ? 'spec.sync was edited' : 'gateways reported other changes'} after the last one`;
  const waits = `has been waiting for approval${sinceText(rollout)}${isOutdated ? why : ''}`;
  const now = approved === undefined ? '' : ` (now ${approved})`;
  return `${waits}; set the annotation sync.io/approve: ${commit}${isOutdated ? ' (remove it first)' : now}`;
}

/** If the waves were edited after the failure, no gateway is admitted. */
const waveText = ({ wave, admission }: RolloutStatus): string =>
  wave === undefined && admission.every(({ admitted }) => admitted === NO_GATEWAY)
    ? ', and its waves were edited afterwards, so no gateway has it'
    : ` in wave ${wave}`;

/** Lists paused gateways, which aren't rolled back. */
function pausedText({ commit, revision, stableCommit, stableRevision }: RolloutStatus, { input }: Context): string {
  const isStable = commit === stableCommit && revision === stableRevision;
  const names = input.gateways.flatMap(({ isResting, report, name }) =>
    isResting && !isStable && report?.commit === commit && report.revision === revision ? name : [],
  );
  return names.length > 0 ? `; still on ${short(commit)} because paused or in a dry run: ${named(names)}` : '';
}

const rolledBackText = ({ verified, total }: RolloutStatus): string =>
  verified < total ? `${verified} of ${total} gateways were` : 'the gateways were';

function progressOf(rollout: RolloutStatus, index: number, context: Context): string {
  const { startedAt, admittedAt = startedAt, underWaySince = admittedAt, admission } = rollout;
  const wave = admission[index]?.wave;
  const { areInProgress, names: holders } = holdersIn(rollout, index, context);
  const skipped = skippedIn(context, index);
  const isIdle = context.standing.waves[index]?.isIdle;
  if (areInProgress || (holders.length > 0 && skipped.length === 0))
    return `waiting for ${named(holders)} in wave ${wave} since ${underWaySince}${trialText(rollout, index, context)}${skippedText(rollout, context)}`;
  if (skipped.length > 0)
    return `waiting for one of ${named(skipped)} to be ready in wave ${wave} since ${sinceOf(rollout)}; none was ready before the rollout began, so the rollout can't be verified${isIdle ? endText(context) : ''}`;
  return `waiting for a replacement gateway in wave ${wave} since ${sinceOf(rollout)}; no gateway is left to verify the rollout`;
}

const sinceOf = ({ waveStartedAt, startedAt }: RolloutStatus): string => waveStartedAt ?? startedAt;

/**
 * Returns the gateways that block a wave: admitted ones in progress, else those that occupy its places, else those that
 * aren't admitted yet, else unhealthy ones that it doesn't wait for, which may neither finish nor fail.
 */
function holdersIn(rollout: RolloutStatus, index: number, { standing, input }: Context) {
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
function absenceText(rollout: RolloutStatus, index: number, { standing, input }: Context): string {
  const { wave = '', gateways } = rollout.admission[index] ?? {};
  const { present = [], isUnchanged } = standing.waves[index] ?? {};
  if (isUnchanged)
    return `waiting for a gateway in wave ${wave} since ${sinceOf(rollout)}; all of its gateways that the commit changes are gone${endText({ input })}`;
  const rests = present.length > 0;
  const isGone = !gateways ? 'it has none yet' : 'all of its gateways are gone';
  const reason = rests ? 'all of its gateways are paused or in a dry run' : isGone;
  const wayOut = wave === 'rest' ? '' : `. If you expect none, remove ${wave} from spec.rollout.waves`;
  return `waiting for a gateway in wave ${wave} since ${sinceOf(rollout)}; ${reason}, so the rollout can't be verified${wayOut}`;
}

/** Lists gateways that weren't ready before, and waves that were passed over. */
function skippedText(rollout: RolloutStatus, context: Context): string {
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

/** Describes orders that wait because the resource is paused. */
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
    .map(([name, ordered]) => `sync.io/${name}: ${ordered} takes effect when the resource is resumed`);
}

function ignoredOrders({ handled: { ignored = [], rollback, retry } = {} }: RolloutStatus): string[] {
  const words = {
    rollback: `sync.io/rollback: ${rollback} had no effect because status.history had no such commit to roll back to`,
    'retry-rollout': `sync.io/retry-rollout: ${retry} had no effect because no such commit failed or was rolled back`,
  };
  return ignored.map((order) => words[order]);
}
