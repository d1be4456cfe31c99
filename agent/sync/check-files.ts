import { checkContents } from '../content/check-contents.ts';
import { filesToCheck } from '../plan/files-to-check.ts';
import type { Plan } from '../plan/plan-changes.ts';
import type { DesiredTree } from '../plan/plan-input.ts';
import { openContents, provideFiles } from './provide-content.ts';
import { recipeOf, type SyncAim, syncProblems } from './sync-aim.ts';
import type { SyncDependencies } from './sync-dependencies.ts';

/** Runs the profile's checks on the files of a plan, before any of them is delivered. Throws if a file fails. */
export async function checkFiles(
  plan: Plan,
  desired: DesiredTree,
  aim: SyncAim,
  dependencies: Pick<SyncDependencies, 'clone' | 'lfs' | 'accessFiles' | 'heapBytes' | 'mounts'>,
): Promise<void> {
  const { intent, manifest, values, signal } = aim;
  const { checks } = intent.profile;
  const isChecked = manifest.applied?.recipe === recipeOf(aim, dependencies);
  const wanted = filesToCheck({ checks, desired, plan, manifest, isChecked });
  if (wanted.length === 0) return;
  const files = wanted.map(({ file }) => file);
  await provideFiles(files, aim, dependencies);
  await using contents = openContents(aim, dependencies);
  contents.announce(files);
  const problems = await checkContents(wanted, { contents, values, signal, heapBytes: dependencies.heapBytes });
  if (problems.length > 0) throw syncProblems('CheckFailed', problems);
}
