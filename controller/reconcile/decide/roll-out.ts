import type { GatewaySyncStatus } from '../../../shared/api/gateway-sync-status.ts';
import type { RolloutStatus } from '../../../shared/api/rollout.ts';
import { answersRange } from '../../../shared/domain/git/answers-range.ts';
import {
  entryOf,
  GIVEN_UP,
  isInProgress,
  isSame,
  type Release,
  releaseOf,
  stableOf,
} from '../../../shared/domain/rollout/releases.ts';
import { completedIn } from '../../../shared/domain/rollout/stored-release.ts';
import { withoutUndefined } from '../../../shared/domain/text/objects.ts';
import { isStableGone, isStored, nameOf, usableIn, withStoredNames } from '../../releases/find-release.ts';
import { HISTORY, withResults } from '../../releases/results.ts';
import { isReleasedIn } from '../../rollout/admission.ts';
import { step } from '../../rollout/machine.ts';
import type { RolloutGateway, RolloutInput } from '../../rollout/rollout-input.ts';
import { givenUpMessage } from '../../rollout/texts.ts';
import type { ObservedGatewaySync } from '../../watch/observed-gateway-sync.ts';
import type { ObservedPod } from '../../watch/observed-pod.ts';
import type { ObservedRelease } from '../../watch/observed-release.ts';
import { pausesOf, type WantedFiles } from './discover-gateways.ts';
import type { RolloutObservation } from './observation.ts';
import { contentOf, rolloutInput } from './observe-rollout.ts';

/** Result of a rollout, and the files that each gateway should have. */
export interface RolledOut {
  fields: Partial<Pick<GatewaySyncStatus, 'rollout' | 'lastRequest'>>;
  wantedOf: (pod: ObservedPod) => WantedFiles;
  /** Time until the clock can have changed something (ms). */
  againInMs: number | undefined;
  /** Whether the wanted release isn't part of a rollout yet: it isn't stored, or its commit is unknown. */
  isHeldBack: boolean;
  /** Releases that must be stored before the rollout can name them. */
  toStore: Release[];
}

/** Advances a rollout; `sync` has the followed ref. Without `spec.rollout`, all gateways get the newest commit. */
export function rollOut(sync: GatewaySyncStatus, given: RolloutObservation, moment: Moment): RolledOut {
  const { now, isResolved, isAnswered } = moment;
  const { gatewaySync } = given;
  const { spec, status: before, generation } = gatewaySync;
  const { revision = '' } = spec;
  if (!spec.rollout) {
    const wantedOf = () => ({ commit: sync.lastSyncCommit });
    return { fields: {}, wantedOf, againInMs: undefined, isHeldBack: false, toStore: [] };
  }
  const state = before.rollout;
  // If the status was lost, the results are all that is left of it.
  const releases = state ? withResults(given.releases, state, now) : given.releases;
  const observation = { ...given, releases };
  // New mappings never meet an old commit. Without the stable release, a rollback would be impossible.
  const newest = isResolved && !isStableGone(gatewaySync, releases) ? contentOf(sync, revision) : undefined;
  // A release that isn't stored can't be read. A current rollout continues.
  const usable = usableIn(releases, gatewaySync);
  const stored = newest && asStored(newest, nameOf(newest, state, usable), usable);
  const input = rolloutInput({ observation, newest: stored, now, pauseOf: pausesOf(gatewaySync) });
  // Nothing changes for a spec that hasn't been judged yet.
  const mayMove = !spec.paused && sync.observedGeneration === generation;
  const moved = mayMove && (state || newest) ? advance(input, { gatewaySync, releases, usable }) : undefined;
  const stable = moved && stableOf(moved);
  const current = moved && releaseOf(moved);
  // The delivered release is stored first, then the newest.
  const toStore = mayMove && newest ? missingIn([stable, current, stored ?? newest], releases, revision) : [];
  const first = stable ?? current;
  const mayKeep = state !== undefined || (first !== undefined && isStored(first, releases));
  const kept = mayKeep ? (moved ?? state) : undefined;
  if (!kept) {
    return { fields: {}, wantedOf: () => ({ commit: undefined }), againInMs: undefined, isHeldBack: true, toStore };
  }
  return {
    fields: { rollout: kept, ...requestOf(sync, kept, observation) },
    wantedOf: wantedBy(kept, input.gateways),
    againInMs: moved && periodOf(moved),
    isHeldBack:
      !isAnswered || kept.revision !== revision || (isResolved && !stored && kept.commit !== sync.lastSyncCommit),
    toStore,
  };
}

/** Returns the next state, with the names of stored releases; undefined if there is nothing to roll out yet. */
function advance(
  input: RolloutInput,
  {
    gatewaySync,
    releases,
    usable,
  }: Pick<RolloutObservation, 'gatewaySync' | 'releases'> & { usable: ObservedRelease[] },
): RolloutStatus | undefined {
  const { rollout: state } = gatewaySync.status;
  // A release that was stored again has another number, to which no approval applies.
  const moved = step(state && withStoredNames(state, usable), input);
  if (!moved) return undefined;
  const named = withStoredNames(moved, usable);
  return withRecords(named, withResults(releases, named, input.now), gatewaySync);
}

/** Returns a release with its name and its ref, because another ref can have the same commit by now. */
function asStored(
  content: Release,
  name: string | undefined,
  releases: readonly ObservedRelease[],
): Release | undefined {
  const stored = releases.find(({ release }) => release === name);
  return stored && { ...content, ref: stored.ref, release: stored.release };
}

/** Returns the releases that aren't stored and whose `spec.sync` can be read, each content once. */
function missingIn(named: (Release | undefined)[], releases: readonly ObservedRelease[], revision: string): Release[] {
  const readable = [revision, ...releases.map((each) => each.revision)];
  return named
    .filter((release) => release !== undefined)
    .filter((release) => !isStored(release, releases) && readable.includes(release.revision))
    .filter((release, index, all) => all.findIndex((other) => isSame(other, release)) === index);
}

/** Notes the commits that gateways keep for rollbacks, and the last number. */
function withRecords(
  rollout: RolloutStatus,
  releases: readonly ObservedRelease[],
  { spec: { history = HISTORY }, status: before }: ObservedGatewaySync,
): RolloutStatus {
  const goodFirst = completedIn(releases).sort((a, b) => Number(a.isRejected) - Number(b.isRejected));
  const others = goodFirst.map(({ commit }) => commit).filter((commit) => commit !== rollout.stableCommit);
  const commits = [...new Set(others)].slice(0, history);
  const lastNumber = Math.max(before.rollout?.lastNumber ?? 0, ...releases.map(({ number }) => number));
  return withoutUndefined({ ...rollout, lastNumber, earlierCommits: commits.length > 0 ? commits : undefined });
}

/** Periods in which a rollout is judged again (ms), because time alone ends soaks, deadlines, and waits for windows. */
const PERIOD_MS = { moving: 10_000, waiting: 30_000 };

function periodOf(rollout: RolloutStatus): number | undefined {
  const { phase, nextCommit, waitsFor } = rollout;
  if (!isInProgress(rollout) && phase !== 'RollingBack' && nextCommit === undefined) return undefined;
  // While a newer commit waits, gateways of the one in progress can still fail.
  const isMoving = isInProgress(rollout) && nextCommit !== undefined;
  return isMoving || waitsFor === undefined || waitsFor === 'Gateways' ? PERIOD_MS.moving : PERIOD_MS.waiting;
}

interface Moment {
  /** Milliseconds since the epoch. */
  now: number;
  /** Whether the commit of the spec is known. */
  isResolved: boolean;
  /** Whether the git server has responded about the current ref and repository. */
  isAnswered: boolean;
}

/** Returns the files of the release that each gateway is assigned to. A pod that isn't a gateway has ended. */
function wantedBy(rollout: RolloutStatus, gateways: readonly RolloutGateway[]): (pod: ObservedPod) => WantedFiles {
  const { commit, revision, stableCommit, stableRevision, admission } = rollout;
  const admitted = new Set(gateways.flatMap((gateway) => (isReleasedIn(gateway, admission) ? gateway.name : [])));
  return ({ name }) => (admitted.has(name) ? { commit, revision } : { commit: stableCommit, revision: stableRevision });
}

/**
 * Marks a request as failed if its commit was abandoned before all gateways had it. Later, its outcome is final, even
 * after a rollback.
 */
function requestOf(
  sync: GatewaySyncStatus,
  rollout: RolloutStatus,
  { gatewaySync: { spec, status: before }, releases }: RolloutObservation,
): Pick<RolledOut['fields'], 'lastRequest'> {
  const { lastRequest, target, lastSyncCommit: commit = '' } = sync;
  if (lastRequest?.outcome !== 'Applied' || !target) return {};
  const isRequested = target.source === 'Request' && lastRequest.ref === target.ref;
  const isMeant = target.range === undefined ? isRequested : answersRange(lastRequest.ref, target, commit);
  if (!isMeant) return {};
  const isGivenUp = rollout.commit === commit && GIVEN_UP.includes(rollout.phase);
  const wasGivenUp = rollout.givenUp?.includes(entryOf({ commit, revision: spec.revision ?? '' }));
  if (!isGivenUp && !(wasGivenUp && rollout.nextCommit === commit)) return {};
  const isNew = !isSameRequest(before.lastRequest, lastRequest);
  if (!isNew && (wasReached(commit, before, releases) || !wasComing(commit, before.rollout))) return {};
  return { lastRequest: { ...lastRequest, outcome: 'Failed', message: givenUpMessage(commit, rollout, { isNew }) } };
}

type Request = NonNullable<GatewaySyncStatus['lastRequest']>;

/** Whether the status already shows that exactly this request was applied. */
const isSameRequest = (one: Request | undefined, { ref, at, by, id, outcome }: Request): boolean =>
  one?.ref === ref && one.at === at && one.by === by && one.id === id && one.outcome === outcome;

/** Whether all gateways have had a commit since it was requested. */
function wasReached(
  commit: string,
  { rollout, targetTime = '' }: GatewaySyncStatus,
  releases: RolloutObservation['releases'],
): boolean {
  const isSince = ({ completedAt }: RolloutObservation['releases'][number]) =>
    completedAt !== undefined && !(completedAt < Date.parse(targetTime));
  return rollout?.stableCommit === commit || releases.some((release) => release.commit === commit && isSince(release));
}

/** Whether a commit was being rolled out, or was waiting for that. */
const wasComing = (commit: string, rollout: RolloutStatus | undefined): boolean =>
  rollout?.nextCommit === commit || (rollout?.commit === commit && !GIVEN_UP.includes(rollout.phase));
