import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import type { RolloutPreview, RolloutStatus } from '../../shared/api/rollout.ts';
import { canRetry, isEntryOf, previewOf, type ReleaseContent } from '../../shared/domain/rollout/releases.ts';
import { parseDuration } from '../../shared/domain/text/duration.ts';
import { shortCommit } from './messages.ts';
import { isBackwards } from './waves.ts';

/** The release to plan, or the reason why there is none. */
export type Candidate =
  | { kind: 'preview'; preview: RolloutPreview }
  /** The rollout of the commit has ended; `failure` is the reason if it failed. */
  | { kind: 'settled'; says: string; failure?: string | undefined }
  /** The preview of the commit can still begin. */
  | { kind: 'pending'; says: string }
  /** The commit gets no preview. */
  | { kind: 'unavailable'; says: string };

/** Returns the release that the agents preview; with `wanted`, only if it is this commit. */
export function plannableCommit({ spec, status }: GatewaySync, wanted?: string): Candidate {
  if (!spec.rollout) return unavailable('previews require spec.rollout: query the agents with --ref');
  const { rollout, lastSyncCommit } = status ?? {};
  const { preview } = rollout ?? {};
  if (preview && (wanted ?? preview.commit) === preview.commit) return { kind: 'preview', preview };
  if (hasPreviewsOff(spec))
    return unavailable('previews are off, because spec.rollout.previewTimeout is 0s: query the agents with --ref');
  if (!rollout) return { kind: 'pending', says: 'it has no rollout yet: see kubectl stoker status' };
  return wanted === undefined ? newestIn(rollout, lastSyncCommit) : specifiedIn(rollout, wanted);
}

const unavailable = (says: string): Candidate => ({ kind: 'unavailable', says });
const settled = (says: string, failure?: string): Candidate => ({ kind: 'settled', says, failure });
const pending = (commit: string, rollout: RolloutStatus): Candidate => ({
  kind: 'pending',
  says: `${shortCommit(commit)} ${whyPending(rollout)}`,
});

/** Explains why the newest commit has no preview. */
function newestIn(rollout: RolloutStatus, lastSyncCommit: string | undefined): Candidate {
  const { phase, commit, nextCommit, stableCommit = '' } = rollout;
  if (nextCommit) return pending(nextCommit, rollout);
  if (isBackwards(rollout))
    return settled(`no commit waits: the gateways were rolled back to ${shortCommit(stableCommit)}`);
  if (phase === 'Stopped') return settled(`the rollout of ${shortCommit(commit)} stopped`, reasonOf(rollout));
  if (phase === 'Previewing') return pending(commit, rollout);
  if (phase !== 'Complete') return withoutPreview(commit);
  if (lastSyncCommit !== undefined && lastSyncCommit !== commit) return pending(lastSyncCommit, rollout);
  return settled(`no commit waits: the rollout of ${shortCommit(commit)} is complete`);
}

/** Explains why a commit has no preview. If all gateways have had it, another one may be in progress. */
function specifiedIn(rollout: RolloutStatus, wanted: string): Candidate {
  const { phase, commit, nextCommit, stableCommit, earlierCommits = [], givenUp = [] } = rollout;
  const name = shortCommit(wanted);
  const isGivenUp = givenUp.some((entry) => isEntryOf(entry, wanted));
  const isReceived = stableCommit === wanted || (earlierCommits.includes(wanted) && !isGivenUp);
  if (isReceived && commit === wanted && phase === 'Complete') return settled(`the rollout of ${name} is complete`);
  if (isReceived) return settled(`all gateways have already received ${name}`);
  if (canRetry(wanted, rollout)) return settled(`${name} was stopped or rolled back`, reasonOf(rollout));
  if (wanted !== commit || phase === 'Previewing') return pending(wanted, rollout);
  return nextCommit ? unavailable(`a newer commit replaced ${name}`) : withoutPreview(wanted);
}

const withoutPreview = (commit: string): Candidate =>
  unavailable(`${shortCommit(commit)} is being rolled out without a preview`);

const reasonOf = ({ message, summary }: RolloutStatus): string => message ?? summary;

/** Checks whether a commit that a status named is replaced, so that its preview never begins. */
export const isReplaced = (commit: string, before: GatewaySync, now: GatewaySync): boolean =>
  names(before, commit) && !names(now, commit);

const names = ({ status: { lastSyncCommit, rollout } = {} }: GatewaySync, commit: string): boolean =>
  [lastSyncCommit, rollout?.commit, rollout?.nextCommit, rollout?.preview?.commit].includes(commit);

/** Checks whether `spec.rollout` turns previews off. */
export const hasPreviewsOff = ({ rollout }: GatewaySync['spec']): boolean =>
  parseDuration(rollout?.previewTimeout ?? '') === 0;

/** Explains why a commit has no preview, with the time when it begins if it is known. */
function whyPending({ waitsFor, nextCommit, nextPreviewAt }: RolloutStatus): string {
  if (waitsFor === 'Retry' && nextCommit !== undefined)
    return 'failed or was rolled back, and gets no preview before kubectl stoker retry';
  if (nextPreviewAt === undefined) return 'has no preview yet';
  return `has no preview yet: the next one can begin from ${nextPreviewAt} on`;
}

/**
 * Checks whether a wait for the previews of a commit is over: all gateways have reported or enough time has passed, it
 * was abandoned, they have it or had it, or it gets no preview.
 */
export function isWaitOver(gatewaySync: GatewaySync, commit: string): boolean {
  const candidate = plannableCommit(gatewaySync, commit);
  if (candidate.kind !== 'preview') return candidate.kind !== 'pending';
  const { phase, commit: current } = gatewaySync.status?.rollout ?? {};
  return isOver(candidate.preview) || (current === commit && phase !== 'Previewing');
}

const isOver = ({ endedAt, reported, total }: RolloutPreview): boolean => endedAt !== undefined || reported >= total;

/** Explains why a release that waits can't be approved yet. */
export function whyUnpreviewed(rollout: RolloutStatus, release: ReleaseContent): string {
  const preview = previewOf(release, rollout);
  if (!preview) return whyPending(rollout);
  const { reported, total } = preview;
  return reported === 0
    ? 'is still being previewed: no gateway has reported its changes yet'
    : `is still being previewed: ${reported} of ${total} gateways have reported their changes`;
}
