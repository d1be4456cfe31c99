import { BOUNDS } from '../../shared/api/bounds.ts';
import type { RolloutPhase, RolloutStatus } from '../../shared/api/rollout.ts';
import { isApprovalOf } from '../../shared/domain/rollout/approvals.ts';
import {
  GIVEN_UP,
  hasUnfinished,
  isSame,
  previewOf,
  type Release,
  releaseOf,
  stableOf,
} from '../../shared/domain/rollout/releases.ts';
import { NO_GATEWAY } from '../../shared/domain/rollout/waves.ts';
import { formatDuration } from '../../shared/domain/text/duration.ts';
import { oneLine } from '../../shared/domain/text/text.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import { awaitedFor, entriesOf } from './approval.ts';
import type { Facts, Wait } from './facts.ts';
import { notRolledBack } from './judge-gateway.ts';
import { failuresIn, lastReportAt } from './preview.ts';
import type { RolloutGateway, RolloutInput } from './rollout-input.ts';
import { everyCommitText, failureOf, listed, named, namesOf, previewText, previewWait } from './texts.ts';
import { iso } from './transitions.ts';
import { absenceText, passedText, progressText } from './wave-messages.ts';

/** Returns the text of the printer column. */
export function summaryOf({ rollout, wave, input }: Facts): string {
  const { phase, verified, total, nextCommit, preview, previewFailure } = rollout;
  const next = nextCommit ? `; ${short(nextCommit)} waits` : '';
  const where = `${rollout.wave} ${wave?.verified.length ?? 0}/${wave?.counted.length ?? 0}`;
  const summary: Record<RolloutPhase, string> = {
    Complete: 'complete',
    RolledBack: 'rolled back',
    RollingBack: `rolling back ${verified}/${total}`,
    Stopped: `stopped${rollout.wave === undefined ? '' : ` in ${where}`}`,
    Soaking: `${where}, soaking ${formatDuration(input.soakMs[wave?.index ?? 0] ?? 0)}`,
    AwaitingApproval: `${where}, waiting for approval`,
    AwaitingWindow: `${where}, waiting for a window`,
    Previewing: preview ? `previewing ${preview.reported}/${preview.total}` : 'preview pending',
    Progressing: where,
  };
  if (phase === 'Stopped' && previewFailure !== undefined) return `stopped by the preview${next}`;
  return `${summary[phase]}${next}`;
}

const short = (commit: string): string => commit.slice(0, 8);

/** Returns what the rollout waits for, and why, with orders that had no effect. */
export function messageOf(facts: Facts, wait: Wait): string | undefined {
  const { rollout } = facts;
  const parts = [
    waitText(facts, wait),
    ...unknownText(rollout),
    ...everyCommitText(rollout),
    ...ignoredOrders(rollout),
  ];
  return oneLine(parts.join('; '), BOUNDS.message) || undefined;
}

function waitText(facts: Facts, wait: Wait): string {
  const { rollout, input } = facts;
  const { nextCommit, commit, phase } = rollout;
  if (nextCommit === undefined) return phaseText(facts, wait);
  const next =
    wait.kind === 'preview'
      ? previewWait(input.newest ?? releaseOf(rollout), rollout, input)
      : `commit ${nextCommit} ${nextText(facts, wait)}`;
  if (phase === 'Complete') return next;
  return `${next}; ${GIVEN_UP.includes(phase) ? phaseText(facts, wait) : `no further gateways get commit ${commit}`}`;
}

function nextText(facts: Facts, { kind }: Wait): string {
  const { rollout, input } = facts;
  const { nextCommit: commit = '' } = rollout;
  if (kind === 'givenUp')
    return `failed or was rolled back; to retry it, set sync.io/retry-rollout: ${commit}, or push a new commit`;
  const more = previewText(rollout, input) + stopText(rollout, input);
  if (kind === 'window') return windowWait(rollout, input) + more;
  if (kind === 'approval') return approvalWait(input.newest ?? releaseOf(rollout), facts) + more;
  return 'is waiting until the newest commit is resolved';
}

function phaseText(facts: Facts, wait: Wait): string {
  const { rollout, input } = facts;
  const { phase, wave, commit, stableCommit, verified, total } = rollout;
  const why = rollout.failures?.length ? ` because ${commit} ${failureOf(rollout)}` : '';
  switch (phase) {
    case 'Complete':
      return `commit ${commit} is available to all gateways`;
    case 'Stopped':
      if (rollout.previewFailure !== undefined)
        return `commit ${commit} can't be delivered: ${rollout.previewFailure}; no gateway gets it until you set sync.io/retry-rollout, or push a new commit. To roll it out anyway, first set spec.rollout.previewFailures: Ignore, and then set sync.io/retry-rollout: ${commit}`;
      return `commit ${commit} ${failureOf(rollout)}${waveText(rollout)}; no further gateways get it until you set sync.io/rollback or sync.io/retry-rollout, or push a new commit`;
    case 'RollingBack':
      return `rolling back all gateways to commit ${stableCommit}${why}; waiting for ${named(namesOf(notRolledBack(rollout, input.gateways)))} since ${rollout.startedAt}`;
    case 'RolledBack':
      return `${verified < total ? `${verified} of ${total}` : 'the'} gateways were rolled back to commit ${stableCommit}${why}; to retry ${short(commit)}, set sync.io/retry-rollout: ${commit}, or push a new commit${pausedText(rollout, input)}`;
    case 'Previewing':
      return previewWait(rollout, rollout, input);
    case 'Soaking':
      return `wave ${wave} is verified and has been soaking since ${rollout.soakStartedAt}${passedText(facts)}`;
    case 'AwaitingApproval':
      return `wave ${wave} ${approvalWait(releaseOf(rollout), facts)}`;
    case 'AwaitingWindow':
      return `wave ${wave} ${windowWait(rollout, input)}`;
    case 'Progressing':
      if (wait.kind === 'noGateway') return absenceText(facts, wait.wave);
      return wait.kind === 'gateways' ? progressText(facts, wait.wave) : '';
  }
}

const sinceText = ({ waitsSince }: RolloutStatus): string => (waitsSince === undefined ? '' : ` since ${waitsSince}`);

/** Warns of a release that can't be delivered while gateways have another unfinished one. */
function stopText(rollout: RolloutStatus, input: RolloutInput): string {
  const { preview, nextCommit, stableCommit } = rollout;
  if (preview?.endedAt === undefined || preview.commit !== nextCommit) return '';
  if (rollout.phase === 'RollingBack' || !hasUnfinished(rollout) || failuresIn(rollout, input).length === 0) return '';
  const then = stableCommit === undefined ? 'keep their files' : `return to commit ${short(stableCommit)}`;
  return `; it stops as soon as it begins, and all gateways then ${then}: push a new commit instead`;
}

/** Explains why other gateways keep their files. */
const unknownText = (rollout: RolloutStatus): string[] =>
  stableOf(rollout)
    ? []
    : ['the last complete release is unknown, so gateways without this one keep their files, and new pods wait'];

const windowWait = (rollout: RolloutStatus, { window }: RolloutInput): string =>
  `has been waiting${sinceText(rollout)}: ${window.message}`;

function approvalWait(release: Release, { rollout, input }: Facts): string {
  const name = release.release ?? release.commit;
  const preview = previewOf(release, rollout);
  const awaited = awaitedFor(release, { rollout, input });
  const also = awaited.length > 0 ? ` and for the report of ${named(namesOf(awaited))}` : '';
  const waits = `has been waiting for approval${also}${sinceText(rollout)}`;
  if (preview && preview.changes === undefined)
    return `${waits}; you can approve ${name} after the first report, or from ${iso(lastReportAt(preview, input))} on`;
  const isGiven =
    rollout.approvals?.some((each) => isApprovalOf(each, release)) || entriesOf(release, input).length > 0;
  const why = isGiven && !also ? ', because none of its approvals covers the changes of this wave' : '';
  return `${waits}${why}; approve the SyncRelease ${name}`;
}

/** If the waves were edited after the failure, no gateway is admitted. */
const waveText = ({ wave, admission }: RolloutStatus): string =>
  wave === undefined && admission.every(({ admitted }) => admitted === NO_GATEWAY)
    ? ', and its waves were edited afterwards, so no gateway has it'
    : ` in wave ${wave}`;

/** Lists paused gateways, which aren't rolled back. */
function pausedText(rollout: RolloutStatus, { gateways }: RolloutInput): string {
  const isLeft = ({ isPaused, report }: RolloutGateway) => isPaused && isSame(report ?? {}, rollout);
  const left = isSame(rollout, stableOf(rollout) ?? {}) ? [] : gateways.filter(isLeft);
  return listed(`; still on ${short(rollout.commit)} because paused or in a dry run: `, namesOf(left));
}

/** Describes orders that wait because the resource is paused. */
export function heldOrders(
  { handled = {} }: RolloutStatus,
  { rollback, retry }: NonNullable<ObservedGatewaySync['orders']>,
): string[] {
  const orders: [name: string, ordered: string | undefined, done: string | undefined][] = [
    ['retry-rollout', retry, handled.retry],
    ['rollback', rollback, handled.rollback],
  ];
  return orders
    .filter(([, ordered, done]) => ordered !== undefined && ordered !== done)
    .map(([name, ordered]) => `sync.io/${name}: ${ordered} takes effect when the resource is resumed`);
}

function ignoredOrders(rollout: RolloutStatus): string[] {
  const { handled = {} } = rollout;
  const { ignored = [], rollback, retry } = handled;
  const words = {
    rollback: `sync.io/rollback: ${rollback} had no effect because no other release of this name was complete, or no earlier one has the result Complete`,
    'retry-rollout': `sync.io/retry-rollout: ${retry} had no effect because no such commit failed or was rolled back`,
  };
  return ignored.map((order) => words[order]);
}
