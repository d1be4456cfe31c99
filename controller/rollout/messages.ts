import { BOUNDS } from '../../shared/api/bounds.ts';
import type { RolloutStatus, RolloutWait } from '../../shared/api/rollout.ts';
import { formatDuration } from '../../shared/domain/duration.ts';
import { withoutUndefined } from '../../shared/domain/objects.ts';
import { GIVEN_UP, hasUnfinished, parseReleaseName, releaseOf } from '../../shared/domain/releases.ts';
import { NO_GATEWAY } from '../../shared/domain/waves.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import { hasSeveralRevisions } from './approved-release.ts';
import { failureOf, named } from './failure-messages.ts';
import { lateAt } from './failures.ts';
import { isRolledBack, notRolledBack } from './judge-gateway.ts';
import { iso } from './lifecycle.ts';
import { failuresIn } from './preview.ts';
import { everyCommitText, previewText, previewWait } from './preview-messages.ts';
import type { RolloutInput, RolloutState, Wait } from './rollout-input.ts';
import type { Context, Standing } from './standing.ts';
import { absenceText, holdersIn, progressOf, skippedText } from './wave-messages.ts';

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
      ? previewWait(context.input.wanted ?? releaseOf(rollout), rollout, context.input)
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
  const more = previewText(rollout, input) + stopText(rollout, input);
  if (kind === 'window') return windowWait(rollout, input) + more;
  if (kind === 'approval') return approvalWait(rollout, commit, input) + more;
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
        return `commit ${commit} can't be delivered: ${rollout.previewFailure}; no gateway gets it until you set sync.io/retry-rollout, or push a new commit. To roll it out anyway, first set spec.rollout.previewFailures: Ignore, and then set sync.io/retry-rollout: ${commit}`;
      return `commit ${commit} ${failureOf(rollout)}${waveText(rollout)}; no further gateways get it until you set sync.io/rollback or sync.io/retry-rollout, or push a new commit`;
    case 'RollingBack':
      return `rolling back all gateways to commit ${stableCommit}${why}; waiting for ${named(notRolledBack(rollout, context.input.gateways).map(({ name }) => name))} since ${rollout.startedAt}`;
    case 'RolledBack':
      return `${rolledBackText(rollout)} rolled back to commit ${stableCommit}${why}; to retry ${short(commit)}, set sync.io/retry-rollout: ${commit}, or push a new commit${pausedText(rollout, context)}`;
    case 'Previewing':
      return previewWait(rollout, rollout, context.input);
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

/** Warns of a release that can't be delivered while gateways have another unfinished one. */
function stopText(rollout: RolloutStatus, input: RolloutInput): string {
  const { preview, nextCommit, stableCommit } = rollout;
  if (preview?.endedAt === undefined || preview.commit !== nextCommit) return '';
  if (rollout.phase === 'RollingBack' || !hasUnfinished(rollout) || failuresIn(rollout, input).length === 0) return '';
  return `; it stops as soon as it begins, and all gateways then return to commit ${short(stableCommit)}: push a new commit instead`;
}

const windowWait = (rollout: RolloutStatus, { window }: RolloutInput): string =>
  `has been waiting${sinceText(rollout)}: ${window.message}`;

function approvalWait(rollout: RolloutStatus, commit: string, input: RolloutInput): string {
  const { approved } = input;
  const { ignored = [] } = rollout.handled ?? {};
  const revision = commit === rollout.nextCommit ? rollout.nextRevision : rollout.revision;
  const isEdited = rollout.handled?.approvedRevision !== revision;
  const isOutdated = parseReleaseName(approved ?? '')?.commit === commit && !ignored.includes('approve');
  if (isOutdated && !isEdited && rollout.preview && rollout.handled?.approvedDigests === undefined)
    return 'is approved, and waits for the first report of a gateway';
  const why = `, because ${isEdited ? 'spec.sync was edited' : changedText(rollout)} after the last one`;
  const waits = `has been waiting for approval${sinceText(rollout)}${isOutdated ? why : ''}`;
  const isSame = approved === `${commit}/${revision}`;
  const now = approved === undefined ? '' : ` (now ${approved})`;
  return `${waits}; set the annotation sync.io/approve: ${commit}/${revision}${isSame ? ' (remove it first)' : now}`;
}

const changedText = ({ preview }: RolloutStatus): string =>
  preview ? 'gateways reported other changes' : 'its preview was removed';

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

function ignoredOrders(rollout: RolloutStatus): string[] {
  const { handled = {} } = rollout;
  const { ignored = [], approve = '', rollback, retry } = handled;
  const why = hasSeveralRevisions(approve, rollout)
    ? 'this commit has waited, or may have waited, with more than one revision of spec.sync'
    : 'no release of this commit waited';
  const words = {
    approve: `sync.io/approve: ${approve} had no effect because ${why}; set COMMIT/REVISION`,
    rollback: `sync.io/rollback: ${rollback} had no effect because status.history had no such commit to roll back to`,
    'retry-rollout': `sync.io/retry-rollout: ${retry} had no effect because no such commit failed or was rolled back`,
  };
  return ignored.map((order) => words[order]);
}
