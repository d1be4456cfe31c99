import { withResults } from '../../../controller/releases/results.ts';
import type { ObservedRelease } from '../../../controller/watch/observed-release.ts';
import { releaseName } from '../../../shared/domain/rollout/release-name.ts';
import type { Release } from '../../../shared/domain/rollout/releases.ts';
import { liveOf, type World } from './world.ts';

/** Stores releases under the next numbers. All watches deliver them at once. */
export function withReleases(world: World, contents: readonly Release[]): World {
  let { releases } = world;
  for (const { commit, ref, revision } of contents) {
    const number = releases.length + 1;
    const release = releaseName('app', number);
    const stored = {
      namespace: 'ns',
      release,
      uid: release,
      resourceVersion: '1',
      crName: 'app',
      repo: 'https://git.test/app.git',
      number,
    };
    releases = [...releases, { ...stored, commit, ref, revision }];
  }
  return { ...world, releases };
}

/** Notes the results of the releases after a write of the status. */
export function withNotedResults(world: World): World {
  const { status } = liveOf(world);
  return { ...world, releases: withResults(world.releases, status?.rollout, world.now) };
}

/** Identifies the results of releases. */
export const resultsOf = (releases: readonly ObservedRelease[]): unknown =>
  releases.map(({ commit, revision, result, completedAt }) => [commit, revision, result, completedAt !== undefined]);
