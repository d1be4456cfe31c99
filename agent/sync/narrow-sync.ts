import { excludeFilter } from '../plan/exclude-filter.ts';
import { type NarrowedInput, narrowChange } from '../plan/narrow-change.ts';
import { isUntouched } from '../volume/is-untouched.ts';
import type { SyncAim } from './sync-aim.ts';
import type { SyncDependencies } from './sync-dependencies.ts';

/** Everything but the commit and the values in contents that decides on what must be where. */
export function recipeOf({ intent, mappings }: SyncAim): string {
  return JSON.stringify([mappings, intent.profile.excludePatterns, intent.submodules]);
}

/**
 * What a plan has to be made of where the manifest is known to tell the rest: the difference between two commits soon
 * after a look at all files, or after a look that finds them all untouched. Undefined where that is not so.
 */
export async function narrowSync(
  aim: SyncAim,
  { baseline, clone, root }: SyncDependencies,
): Promise<NarrowedInput | undefined> {
  const { intent, mappings, manifest, values } = aim;
  const { applied } = manifest;
  // What is in submodules does not show in the difference between two commits.
  if (intent.submodules) return undefined;
  if (intent.profile.dryRun || !applied || !baseline.holds(recipeOf(aim), manifest)) return undefined;
  const isSameCommit = applied.commit === intent.commit;
  // What changes in a submodule shows at its own path, which may lie above a source.
  if (intent.submodules && !isSameCommit) return undefined;
  const sources = mappings.map(({ source }) => source);
  const changes = await clone.changes(applied.commit, intent.commit, sources);
  if (!changes) return undefined;
  const isTrusted = !isSameCommit && baseline.isFresh(intent.profile.syncPeriod);
  if (!isTrusted) {
    if (!(await isUntouched(root, manifest))) return undefined;
    baseline.onLook();
  }
  return narrowChange({
    mappings,
    changes,
    manifest,
    values,
    isExcluded: excludeFilter(intent.profile.excludePatterns),
  });
}
