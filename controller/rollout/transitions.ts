import type { RolloutStatus } from '../../shared/api/rollout.ts';
import { entryOf, isSame, type Release, releaseOf, stableOf } from '../../shared/domain/rollout/releases.ts';
import { ALL, NO_GATEWAY } from '../../shared/domain/rollout/waves.ts';
import { withoutUndefined } from '../../shared/domain/text/objects.ts';
import { makeAdmission, noteGateways, withoutEmptied } from './admission.ts';
import type { Draft, Move } from './moves.ts';
import type { RolloutInput } from './rollout-input.ts';

const stableFields = ({ commit, ref, revision, release }: Partial<Release> = {}) => ({
  stableCommit: commit,
  stableRef: ref,
  stableRevision: revision,
  stableRelease: release,
});

/** Formats a time (ms since the epoch) as in the status (RFC 3339). */
export const iso = (time: number): string => new Date(time).toISOString();
const noCounts = { admitted: 0, verified: 0, failed: 0, total: 0, summary: '' };

/**
 * Makes the first state. A stable release is complete in it, and a newer one then goes through the waves. If gateways
 * have files of an unknown release, because the status and the releases were lost, they keep these files, and the newest
 * release goes through the waves. Rejected releases stay abandoned. Earlier orders are ignored.
 */
export function makeFirst(input: RolloutInput): Move | undefined {
  const { newest, rollback, retry } = input;
  const stable = firstStable(input);
  const release = stable ?? newest;
  if (!release) return undefined;
  const givenUp = rejectedIn(input);
  const admission = makeAdmission(input.spec, input.gateways, { admitted: stable ? ALL : NO_GATEWAY });
  const first = {
    // Reports may remain from rollouts before `spec.rollout` was removed; none of them had this number.
    number: Math.floor(input.now / 1000) % 1_000_000_000,
    ...noCounts,
    ...releaseOf(release),
    ...stableFields(stable),
    startedAt: iso(input.now),
    plan: input.wavesHash,
    givenUp: unlessEmpty(givenUp),
    admission,
    handled: handledOf({ rollback, retry }),
  };
  if (stable) return { to: 'Complete', rollout: first };
  if (givenUp.includes(entryOf(release))) return { to: 'Stopped', rollout: first };
  return { to: 'Previewing', rollout: { ...first, wave: admission[0]?.wave } };
}

/**
 * A gateway that reports the commit in the status without a revision had no `spec.rollout` when it got this commit. A
 * lost status has none, so no report outweighs the stored releases.
 */
function firstStable({ gateways, lastComplete, delivered, newest }: RolloutInput): Release | undefined {
  const reports = gateways.flatMap(({ report }) => (report?.commit === undefined ? [] : report));
  if (reports.length === 0) return lastComplete ?? delivered ?? newest;
  const isDelivered = reports.some(({ commit, revision }) => revision === undefined && commit === delivered?.commit);
  return (isDelivered ? delivered : undefined) ?? lastComplete;
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
    approvals: rollout.approvals,
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
  return { ...renewed(rollout, input, ALL), ...(stableOf(rollout) ?? releaseOf(rollout)), givenUp: rollout.givenUp };
}

/**
 * Rolls all gateways back to a release that was complete. The abandoned release is remembered, so that it isn't retried.
 */
export function rollBack(rollout: RolloutStatus, target: Release, input: RolloutInput): Draft {
  // If the target is the release that was rolled back, the gateways leave the stable release, which they have now.
  const left = (isSame(target, rollout) && stableOf(rollout)) || releaseOf(rollout);
  const givenUp = leftFor(target, rollout, input);
  return { ...renewed(rollout, input, NO_GATEWAY), ...left, ...stableFields(target), givenUp };
}

/** Returns the latest abandoned releases, including this one. */
export function givenUpWith(rollout: Draft, release: Release): string[] {
  return latest([entryOf(release), ...(rollout.givenUp ?? [])]);
}

/** Returns the first abandoned releases. One that falls out of the list would be a new release. */
const latest = (names: readonly string[]): string[] => [...new Set(names)].slice(0, MAX_GIVEN_UP);

/**
 * Returns the releases that all gateways leave: the one that was rolled out, and the stable one if the rollback goes
 * past it. The list is short, so the newest release comes first: it would start by itself if it fell out.
 */
function leftFor(target: Release, rollout: RolloutStatus, { newest }: RolloutInput): string[] {
  const left = [releaseOf(rollout), stableOf(rollout)].flatMap((release) =>
    release && !isSame(release, target) ? entryOf(release) : [],
  );
  const others = (rollout.givenUp ?? []).filter((name) => name !== entryOf(target));
  const awaited = others.filter((name) => newest !== undefined && name === entryOf(newest));
  return latest([...left, ...awaited, ...others]);
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
