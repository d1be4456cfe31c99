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
import type { Draft, Rollout } from './moves.ts';
import { reportedRelease } from './reported-release.ts';
import type { RolloutInput } from './rollout-input.ts';

const stableFields = ({ commit, ref, revision }: Release) => ({
  stableCommit: commit,
  stableRef: ref,
  stableRevision: revision,
});

/** Formats a time (ms since the epoch) as in the status (RFC 3339). */
export const iso = (time: number): string => new Date(time).toISOString();
const noCounts = { admitted: 0, verified: 0, failed: 0, total: 0, summary: '' };

/**
 * Makes the first state, in which the delivered release is complete. The release that most gateways report takes
 * precedence, because a status can get lost; the newest commit then goes through the waves. Earlier orders are ignored,
 * except for an approval that names its release.
 */
export function makeFirst(input: RolloutInput): Draft | undefined {
  const { approved = '', rollback, retry } = input;
  const isNamed = parseReleaseName(approved)?.revision !== undefined;
  const release = reportedRelease(input) ?? input.delivered ?? input.newest;
  if (!release) return undefined;
  return {
    // Reports may remain from rollouts before `spec.rollout` was removed; none of them had this number.
    number: Math.floor(input.now / 1000) % 1_000_000_000,
    ...noCounts,
    ...releaseOf(release),
    ...stableFields(release),
    startedAt: iso(input.now),
    plan: input.wavesHash,
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
    history: remembered([], release, { input }),
  };
}

/** Returns the handled orders; undefined if there are none. */
export function handledOf(orders: NonNullable<RolloutStatus['handled']>): RolloutStatus['handled'] {
  const handled = withoutUndefined(orders);
  return Object.keys(handled).length > 0 ? handled : undefined;
}

/** Status fields with empty lists are absent. */
export const unlessEmpty = <T>(list: T[] | undefined): T[] | undefined => (list?.length ? list : undefined);

/**
 * Adds a completed release to the history: the newest first, each once. The release that the gateways had before is
 * second; after a rollback it isn't the newest of the others.
 */
function remembered(
  history: Rollout['history'],
  release: Release,
  { input: { now, historyLength }, before }: { input: RolloutInput; before?: Release },
): Rollout['history'] {
  const isBefore = (entry: Release) => Number(before !== undefined && isSame(entry, before));
  const others = history.filter((entry) => !isSame(entry, release)).sort((a, b) => isBefore(b) - isBefore(a));
  return [{ ...releaseOf(release), time: iso(now) }, ...others].slice(0, historyLength);
}

/** Returns a preview for edited waves: a gateway that reported a change and is gone can belong to any of them. */
export function inAnyWave(preview: RolloutStatus['preview'], admission: RolloutStatus['admission']) {
  return preview?.changedWaves ? { ...preview, changedWaves: admission.map(({ wave }) => wave).sort() } : preview;
}

/** Fields with which every rollout starts. Handled orders are kept. */
function renewed(rollout: Rollout, { spec, gateways, wavesHash, now }: RolloutInput, admitted: string) {
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
    history: rollout.history,
  };
}

/**
 * Starts a release at the first wave, with no gateways admitted. Its preview comes first, which may be over already.
 * Other abandoned releases stay abandoned.
 */
export function begin(rollout: Rollout, release: Release, input: RolloutInput): Draft {
  const next = renewed(rollout, input, NO_GATEWAY);
  const [{ wave = '' } = {}] = next.admission;
  const givenUp = unlessEmpty(rollout.givenUp?.filter((entry) => entry !== entryOf(release)));
  return { ...next, ...releaseOf(release), wave, givenUp };
}

/** Completes a newest release that is the stable one: all gateways can have it at once. */
export function returnToStable(rollout: Rollout, input: RolloutInput): Draft {
  return { ...renewed(rollout, input, ALL), ...stableOf(rollout), givenUp: rollout.givenUp };
}

/**
 * Rolls all gateways back to a release of the history, which stays unchanged. The abandoned release is remembered, so
 * that it isn't retried.
 */
export function rollBack(rollout: Rollout, target: Release, input: RolloutInput): Draft {
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
export function complete(rollout: Rollout, input: RolloutInput): Draft {
  const { preview, total, history } = rollout;
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
    history: remembered(history, rollout, { input, before: stableOf(rollout) }),
  };
}
