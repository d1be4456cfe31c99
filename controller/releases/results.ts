import type { RolloutStatus } from '../../shared/api/rollout.ts';
import type { ReleasePhase } from '../../shared/api/sync-release.ts';
import { entryOf, isInProgress, isSame, type Release, releaseOf } from '../../shared/domain/rollout/releases.ts';
import { isComplete, newestFirst } from '../../shared/domain/rollout/stored-release.ts';
import { withoutUndefined } from '../../shared/domain/text/objects.ts';
import type { ObservedRelease } from '../watch/observed-release.ts';

/** What a release has become. Only its label outlives a lost status of the GatewaySync. */
export type ReleaseState = Pick<ObservedRelease, 'result' | 'phase' | 'completedAt'>;

/**
 * Returns what the releases of a resource have become, according to the stored state of its rollout. A result is
 * written after the status, except for the label Rejected, so a release is never complete too early. Without
 * `spec.rollout` and so without a rollout, gateways follow commits that aren't releases, so none is labelled. `now` is in
 * milliseconds since the epoch.
 */
export const withResults = (
  releases: readonly ObservedRelease[],
  rollout: RolloutStatus | undefined,
  now: number,
): ObservedRelease[] =>
  releases.map((release) => {
    const { result, phase, completedAt, ...others } = release;
    const left = { phase: phase && (isFinal(phase) ? phase : 'Superseded'), completedAt } as const;
    return { ...others, ...withoutUndefined(rollout ? stateOf(release, { rollout, releases, now }) : left) };
  });

/** Whether a phase doesn't change once another release is rolled out. */
const isFinal = (phase: ReleasePhase): boolean => ['Complete', 'Stopped', 'RolledBack', 'Superseded'].includes(phase);

interface Standing {
  rollout: RolloutStatus;
  releases: readonly ObservedRelease[];
  now: number;
}

function stateOf(
  release: ObservedRelease,
  standing: Standing,
): { [Field in keyof ReleaseState]: ReleaseState[Field] | undefined } {
  const { rollout, now } = standing;
  const result = labelOf(release, standing);
  return {
    result,
    phase: phaseOf(release, result, rollout),
    completedAt: release.completedAt ?? (result === 'Complete' ? now : undefined),
  };
}

/**
 * The stable release is always the newest complete one, because gateways have left those with a higher number. A retry
 * removes the label. The list of abandoned releases has contents, and is about the newest release with each.
 */
function labelOf(release: ObservedRelease, { rollout, releases }: Standing): ReleaseState['result'] {
  const { stableRelease, nextRelease, givenUp = [] } = rollout;
  if (release.release === stableRelease) return 'Complete';
  const stable = releases.find((each) => each.release === stableRelease);
  if (release.result === 'Complete') return stable && release.number > stable.number ? 'Rejected' : 'Complete';
  if (!isRepeated(release, releases) && givenUp.includes(entryOf(release))) return 'Rejected';
  const isAwaited = release.release === nextRelease || (release.release === rollout.release && isInProgress(rollout));
  return isAwaited ? undefined : release.result;
}

/** Whether a release with a higher number has the same content. */
const isRepeated = (release: ObservedRelease, releases: readonly ObservedRelease[]): boolean =>
  releases.some((each) => isSame(each, release) && each.number > release.number);

/** Only the label of a release is known if its status was lost. One that no rollout has named yet has no phase. */
function phaseOf(
  release: ObservedRelease,
  result: ReleaseState['result'],
  rollout: RolloutStatus,
): ReleasePhase | undefined {
  // An older release that gateways left for a newer one stays complete.
  if (release.release === rollout.release && result !== 'Complete') return rollout.phase;
  if (release.release === rollout.nextRelease) return 'Waiting';
  if (result === 'Complete') return 'Complete';
  if (result === undefined) return release.phase && (release.phase === 'Complete' ? 'Complete' : 'Superseded');
  const wasDelivered = release.phase !== 'Waiting' && release.phase !== 'Superseded';
  if (release.phase === 'Stopped') return 'Stopped';
  return wasDelivered || release.completedAt !== undefined ? 'RolledBack' : 'Superseded';
}

/**
 * Returns the status of a release as a merge patch, with the details of its rollout if it is the current one. A complete
 * release has no failures.
 */
export function statusPatchOf(
  { release, phase = 'Waiting', completedAt }: ObservedRelease,
  rollout: Partial<RolloutStatus>,
) {
  const { startedAt, failures = null, failureMessage, previewFailure, preview } = rollout;
  // A rollback has its own start.
  const isBackwards = phase === 'RollingBack' || phase === 'RolledBack';
  const { total = 0, unchanged = 0, failing = 0, files = 0 } = preview ?? {};
  const details = {
    ...(!isBackwards && { startedAt }),
    failures,
    message: failureMessage ?? previewFailure ?? null,
    ...(preview && { preview: { total, unchanged, failing, files } }),
  };
  return {
    ...(release === rollout.release && details),
    ...(phase === 'Complete' && { failures: null, message: null }),
    ...(completedAt !== undefined && { completedAt: new Date(completedAt).toISOString() }),
    phase,
  };
}

/** Returns the releases with a label, the newest first. */
export const labelledIn = (releases: readonly ObservedRelease[], label: ReleaseState['result']): Release[] =>
  newestFirst(releases.filter(({ result }) => result === label)).map(releaseOf);

/** Complete releases that are kept if spec.history is omitted. */
export const HISTORY = 10;
/** Releases besides the complete ones that are kept. */
const OTHERS = 5;
/** Releases of one resource. */
const MAX_RELEASES = 20;

/**
 * Returns the releases that can be deleted. Those that the status names are kept, and the newest one, because its number
 * must not be used again. The newest of several with the same content is kept. Rejected releases make room for those to
 * which `previous` can roll back.
 */
export function unneededOf(
  releases: readonly ObservedRelease[],
  rollout: RolloutStatus,
  history: number,
): ObservedRelease[] {
  const named = [rollout.release, rollout.stableRelease, rollout.nextRelease, rollout.preview?.release];
  const [newest, ...others] = newestFirst(releases);
  const isKept = (release: ObservedRelease) => release === newest || named.includes(release.release);
  // A release in progress can still fail, so it replaces no complete one.
  const isReplaced = (release: ObservedRelease) =>
    isRepeated(release, isComplete(release) ? releases.filter(isComplete) : releases);
  const rest = others.filter((release) => !isKept(release) && !isReplaced(release));
  const good = rest.filter(({ result }) => result === 'Complete');
  const rejected = rest.filter((release) => isComplete(release) && !good.includes(release));
  const complete = [...good, ...rejected].slice(0, history);
  const incomplete = rest.filter((release) => !isComplete(release)).slice(0, OTHERS);
  const kept = new Set([...releases.filter(isKept), ...complete, ...incomplete].slice(0, MAX_RELEASES));
  return releases.filter((release) => !kept.has(release));
}
