import { nameOf } from '../../../../controller/releases/find-release.ts';
import { withResults } from '../../../../controller/releases/results.ts';
import type { ObservedRelease } from '../../../../controller/watch/observed-release.ts';
import type { RolloutStatus } from '../../../../shared/api/rollout.ts';
import { releaseName } from '../../../../shared/domain/rollout/release-name.ts';
import type { Release } from '../../../../shared/domain/rollout/releases.ts';

/** Name of the GatewaySync. */
const NAME = 'g';

/** The part of a world that releases depend on. */
interface Stored {
  /** The newest commit. */
  wanted: string | undefined;
  state: RolloutStatus | undefined;
  releases: readonly ObservedRelease[];
  /** Milliseconds since the epoch. */
  now: number;
}

const contentOf = (commit: string): Release => ({ commit, ref: 'main', revision: 'r' });

/** The newest release, with its name; undefined if it is unknown or not stored. */
export function newestIn({ wanted, state, releases }: Stored): Release | undefined {
  if (wanted === undefined) return undefined;
  const release = nameOf(contentOf(wanted), state, releases);
  return release === undefined ? undefined : { ...contentOf(wanted), release };
}

/** Notes the results of the stored status, and stores the newest release if it isn't stored yet, or needs a new number. */
export function store<W extends Stored>(before: W): W {
  const world = noteResults(before);
  const { wanted, releases } = world;
  if (wanted === undefined || newestIn(world)) return world;
  const number = 1 + Math.max(0, ...releases.map((release) => release.number));
  return { ...world, releases: [...releases, releaseWith(number, contentOf(wanted))] };
}

/** Notes what the stored releases have become, as after each write of the status. A lost status has no results. */
function noteResults<W extends Stored>(world: W): W {
  const { state, releases, now } = world;
  return state ? { ...world, releases: withResults(releases, state, now) } : world;
}

/** Removes the results, as after `spec.rollout` was removed. */
export const withoutResults = <W extends Stored>(world: W): W => ({
  ...world,
  releases: withResults(world.releases, undefined, world.now),
});

/** The releases that can still have an effect: those that were complete, that the status names, or that are newer. */
export function relevantIn({ state, releases }: Stored): ObservedRelease[] {
  const named = [state?.release, state?.stableRelease, state?.nextRelease];
  const last = releases.findLastIndex(({ result }) => result === 'Complete');
  return releases.filter(
    ({ release, completedAt }, index) => completedAt !== undefined || named.includes(release) || index > last,
  );
}

function releaseWith(number: number, { commit, ref, revision }: Release): ObservedRelease {
  const release = releaseName(NAME, number);
  return {
    namespace: 'ns',
    release,
    uid: release,
    resourceVersion: '1',
    crName: NAME,
    repo: 'https://git.test/app.git',
    number,
    commit,
    ref,
    revision,
  };
}
