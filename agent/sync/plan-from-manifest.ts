import { allDirectories } from '../plan/directories.ts';
import type { Manifest, OwnedFile } from '../plan/manifest.ts';
import { MemoryBudget } from '../plan/memory-budget.ts';
import { isCopy, type Plan, planChanges } from '../plan/plan-changes.ts';
import type { DesiredFile, DesiredTree } from '../plan/plan-input.ts';
import { rootOf, treeRoots } from '../plan/trees.ts';
import { planInputOf } from './plan-sync.ts';
import { recipeOf, type SyncAim } from './sync-aim.ts';
import type { SyncDependencies } from './sync-dependencies.ts';
import { keysHashOf } from './verify-commit.ts';

/** Checks whether the manifest records the same commit, recipe, and keys. */
export async function isRecorded(
  aim: SyncAim,
  dependencies: Pick<SyncDependencies, 'mounts' | 'signatures'>,
): Promise<boolean> {
  const { intent, manifest } = aim;
  const { applied } = manifest;
  if (applied?.commit !== intent.commit) return false;
  if (applied.recipe !== recipeOf(aim, dependencies)) return false;
  if (intent.verify === 'none') return applied.keys === undefined;
  return applied.keys === keysHashOf(intent, await dependencies.signatures.hashKeys());
}

/**
 * Makes a plan without git: if the last sync was for the same commit, recipe, and keys, the manifest has the desired
 * files. Returns undefined unless the content of every file is right. The plan corrects modes, and has new records of
 * files whose fingerprint has changed.
 */
export async function planFromManifest(
  aim: SyncAim,
  dependencies: Pick<SyncDependencies, 'mounts' | 'signatures' | 'heapBytes' | 'root' | 'baseline' | 'onTakenOver'>,
): Promise<Plan | undefined> {
  const { manifest } = aim;
  if (!(await isRecorded(aim, dependencies))) return undefined;
  new MemoryBudget(dependencies.heapBytes, { manifest }); // throws if the memory limit was lowered
  const desired = asDesired(manifest, treeRoots(aim.mappings));
  const result = planChanges(await planInputOf({ desired, manifest }, aim, dependencies));
  if (result.kind !== 'plan') return undefined;
  const { changes, unchanged, publications } = result.plan;
  const isComplete = unchanged + changes.length === manifest.files.size && changes.every(isCopy);
  return isComplete && (publications.length === 0 || changes.length > 0) ? result.plan : undefined;
}

/** Files in a tree whose destination is no longer mapped remain there, as with `prune: false`. */
function asDesired({ files, trees }: Manifest, wanted: readonly string[]): DesiredTree {
  const unmapped = [...trees.keys()].filter((path) => !wanted.includes(path));
  const desired = new Map<string, DesiredFile>();
  const retained = new Set<string>();
  for (const [path, record] of files) {
    if (rootOf(path, unmapped) === undefined) desired.set(path, fileOf(record));
    else retained.add(path);
  }
  return { files: desired, directories: allDirectories(desired.keys()), retained };
}

/** The steps of patches aren't needed, because a file that must be written isn't right. */
function fileOf({ path, source, link, blob, executable, mode, inputs, patches, lfs }: OwnedFile): DesiredFile {
  const file: DesiredFile = { path, source, blob, executable, template: inputs !== undefined };
  if (mode !== undefined) file.mode = mode;
  if (link !== undefined) file.link = link;
  if (patches !== undefined) file.patches = { steps: [], hash: patches };
  if (lfs) file.lfs = true;
  return file;
}
