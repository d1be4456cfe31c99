import type { RolloutStatus } from '../../shared/api/rollout.ts';
import {
  ANY,
  entryOf,
  isSame,
  parseReleaseName,
  type Release,
  releaseOf,
  stableOf,
} from '../../shared/domain/rollout/releases.ts';
import { ALL, NO_GATEWAY } from '../../shared/domain/rollout/waves.ts';
import { withoutUndefined } from '../../shared/domain/text/objects.ts';
import { makeAdmission, noteGateways, withoutEmptied } from './admission.ts';
import type { Draft } from './moves.ts';
import { reportedRelease } from './reported-release.ts';
import type { RolloutInput } from './rollout-input.ts';

const stableFields = ({ commit, ref, revision, release }: Release) => ({
  stableCommit: commit,
  stableRef: ref,
  stableRevision: revision,
  stableRelease: release,
});

/** Formats a time (ms since the epoch) as in the status (RFC 3339). */
export const iso = (time: number): string => new Date(time).toISOString();
const noCounts = { admitted: 0, verified: 0, failed: 0, total: 0, summary: '' };

/**
 * Makes the first state, in which the delivered release is complete. The newest complete release, or the one that most
 * gateways report, takes precedence, because a status can get lost; the newest commit then goes through the waves.
 * Rejected releases stay abandoned. Earlier orders are ignored, except for an approval that names its release.
 */
export function makeFirst(input: RolloutInput): Draft | undefined {
  const { approved = '', rollback, retry } = input;
  const isNamed = parseReleaseName(approved)?.revision !== undefined;
  const reports = input.gateways.flatMap(({ report }) => (report?.commit === undefined ? [] : report));
  // Reports without a revision are from gateways that followed no rollout. No single gateway can make this up.
  const followedNone = reports.length > 0 && reports.every(({ revision }) => revision === undefined);
  const complete = followedNone ? undefined : input.lastComplete;
  const release = complete ?? reportedRelease(input) ?? input.delivered ?? input.newest;
  if (!release) return undefined;
  return {
    // Reports may remain from rollouts before `spec.rollout` was removed; none of them had this number.
    number: Math.floor(input.now / 1000) % 1_000_000_000,
    ...noCounts,
    ...releaseOf(release),
    ...stableFields(release),
    startedAt: iso(input.now),
    plan: input.wavesHash,
    givenUp: unlessEmpty(rejectedIn(input)),
    admission: makeAdmission(input.spec, input.gateways, { admitted: ALL }),
    handled: handledOf({
      approve: isNamed ? undefined : input.approved,
      rollback,
      retry,
      ignored: isNamed || input.approved === undefined ? undefined : ['approve'],
    }),
    // A status that was lost may have shown any release.
    shownReleases: input.gateways.some(({ report }) => report?.rollout !== undefined)
      ? [entryOf({ commit: ANY, revision: ANY })]
      : undefined,
  };
}

/** Returns the last releases that were rejected; the newest one must be among them, or it would start by itself. */
function rejectedIn({ rejected = [], newest }: RolloutInput): string[] {
  const isNewest = (release: Release) => Number(newest !== undefined && isSame(release, newest));
  const awaitedFirst = rejected.toSorted((a, b) => isNewest(b) - isNewest(a));
  return [...new Set(awaitedFirst.map(entryOf))].slice(0, MAX_GIVEN_UP);
}

/** Returns the handled orders; undefined if there are none. */
export function handledOf(orders: NonNullable<RolloutStatus['handled']>): RolloutStatus['handled'] {
  const handled = withoutUndefined(orders);
  return Object.keys(handled).length > 0 ? handled : undefined;
}

/** Status fields with empty lists are absent. */
export const unlessEmpty = <T>(list: T[] | undefined): T[] | undefined => (list?.length ? list : undefined);

/** Returns a preview for edited waves: a gateway that reported a change and is gone can belong to any of them. */
export function inAnyWave(preview: RolloutStatus['preview'], admission: RolloutStatus['admission']) {
  return preview?.changedWaves ? { ...preview, changedWaves: admission.map(({ wave }) => wave).sort() } : preview;
}

/** Fields with which every rollout starts. Handled orders are kept. */
function renewed(rollout: RolloutStatus, { spec, gateways, wavesHash, now }: RolloutInput, admitted: string) {
  const { admission: before } = rollout;
  const admission = makeAdmission(spec, gateways, { admitted, before });
  return {
    number: rollout.number + 1,
    ...noCounts,
    ...stableFields(stableOf(rollout)),
    startedAt: iso(now),
    plan: wavesHash,
    admission: wavesHash === rollout.plan ? withoutEmptied(admission, before, gateways) : admission,
    preview: wavesHash === rollout.plan ? rollout.preview : inAnyWave(rollout.preview, admission),
    nextPreviewAt: rollout.nextPreviewAt,
    handled: rollout.handled,
  };
}

/**
 * Starts a release at the first wave, with no gateways admitted. Its preview comes first, which may be over already.
 * Other abandoned releases stay abandoned.
 */
export function begin(rollout: RolloutStatus, release: Release, input: RolloutInput): Draft {
  const next = renewed(rollout, input, NO_GATEWAY);
  const [{ wave = '' } = {}] = next.admission;
  const givenUp = unlessEmpty(rollout.givenUp?.filter((entry) => entry !== entryOf(release)));
  return { ...next, ...releaseOf(release), wave, givenUp };
}

/** Completes a newest release that is the stable one: all gateways can have it at once. */
export function returnToStable(rollout: RolloutStatus, input: RolloutInput): Draft {
  return { ...renewed(rollout, input, ALL), ...stableOf(rollout), givenUp: rollout.givenUp };
}

/**
 * Rolls all gateways back to a release that was complete. The abandoned release is remembered, so that it isn't retried.
 */
export function rollBack(rollout: RolloutStatus, target: Release, input: RolloutInput): Draft {
  // If the target is the release that was rolled back, the gateways leave the stable release, which they have now.
  const left = isSame(target, rollout) ? stableOf(rollout) : releaseOf(rollout);
  const givenUp = leftFor(target, rollout, input);
  return { ...renewed(rollout, input, NO_GATEWAY), ...left, ...stableFields(target), givenUp };
}

/** Returns the latest abandoned releases, including this one. */
export function givenUpWith(rollout: Draft, release: Release): string[] {
  return latest([entryOf(release), ...(rollout.givenUp ?? [])], rollout);
}

/**
 * Returns the first abandoned releases, and the one with an approval: if it fell out, it would start again under that
 * approval. A retry can still use it.
 */
function latest(names: readonly string[], { handled }: Pick<RolloutStatus, 'handled'>): string[] {
  const different = [...new Set(names)];
  const { commit } = parseReleaseName(handled?.approve ?? '') ?? {};
  const approved = entryOf({ commit, revision: handled?.approvedRevision });
  const others = different.slice(0, MAX_GIVEN_UP);
  if (!different.includes(approved) || others.includes(approved)) return others;
  return [...others.slice(0, -1), approved];
}

/**
 * Returns the releases that all gateways leave: the one that was rolled out, and the stable one if the rollback goes
 * past it. The list is short, so the newest release comes first: it would start by itself if it fell out.
 */
function leftFor(target: Release, rollout: RolloutStatus, { newest }: RolloutInput): string[] {
  const left = [releaseOf(rollout), stableOf(rollout)].filter((release) => !isSame(release, target)).map(entryOf);
  const others = (rollout.givenUp ?? []).filter((name) => name !== entryOf(target));
  const awaited = others.filter((name) => newest !== undefined && name === entryOf(newest));
  return latest([...left, ...awaited, ...others], rollout);
}

const MAX_GIVEN_UP = 4;

/** Checks whether a release is the one that waits. */
export const isNext = ({ commit, revision }: Release, { nextCommit, nextRevision }: RolloutStatus): boolean =>
  commit === nextCommit && revision === nextRevision;

/** Completes a rollout: its release becomes the stable one. */
export function complete(rollout: RolloutStatus, input: RolloutInput): Draft {
  const { preview, total } = rollout;
  const all = rollout.admission.map((entry) => ({ ...entry, admitted: ALL }));
  return {
    ...rollout,
    wave: undefined,
    waveStartedAt: undefined,
    inProgress: undefined,
    preview: undefined,
    // After a preview, 0 makes the next count include the unchanged gateways.
    total: preview ? 0 : total,
    ...stableFields(rollout),
    admission: noteGateways(all, input.gateways),
  };
}
