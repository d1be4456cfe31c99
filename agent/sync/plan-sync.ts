import type { RenderedMapping } from '../../shared/domain/render-mappings.ts';
import type { TemplateValues } from '../../shared/domain/render-template.ts';
import { TerminalError } from '../../shared/errors.ts';
import type { Logger } from '../../shared/log.ts';
import { ContentReader } from '../content/content-reader.ts';
import type { ContentPreviews } from '../content/deliver-content.ts';
import type { Gateway } from '../gateway/gateway.ts';
import type { Clone } from '../git/clone.ts';
import { expandSubmodules } from '../git/expand-submodules.ts';
import type { AccessFiles } from '../git/git-access.ts';
import type { ModuleStore } from '../git/module-store.ts';
import type { LfsStore } from '../lfs/lfs-store.ts';
import { desiredTree } from '../plan/desired-tree.ts';
import { RepairCounts } from '../plan/drift.ts';
import { excludeFilter } from '../plan/exclude-filter.ts';
import type { Manifest } from '../plan/manifest.ts';
import { type NarrowedInput, narrowChange } from '../plan/narrow-change.ts';
import { filesToPreview, type Plan, type PlanResult, planChanges } from '../plan/plan-changes.ts';
import type { DesiredFile } from '../plan/plan-input.ts';
import type { Identity } from '../plan/template-values.ts';
import type { Intent } from '../resource/judge-resource.ts';
import type { Signatures } from '../signatures/signatures.ts';
import type { DataRoot } from '../volume/data-root.ts';
import type { ManifestFile } from '../volume/manifest-file.ts';
import { isUntouched, scanTree } from '../volume/scan-tree.ts';
import type { VolumeLock } from '../volume/volume-lock.ts';

/** What a sync works with. */
export interface SyncDependencies {
  identity: Identity;
  labelsFile: string | undefined;
  clone: Clone;
  lfs: LfsStore;
  modules: ModuleStore;
  accessFiles: AccessFiles;
  signatures: Signatures;
  root: DataRoot;
  manifestFile: ManifestFile;
  gateway: Gateway;
  baseline: Baseline;
  previews: ContentPreviews;
  lock: VolumeLock;
  log: Logger;
  /** Told how long each fetch took, in seconds. */
  onFetch: (seconds: number) => void;
}

/** What a sync is to bring about. */
export interface SyncAim {
  intent: Intent;
  mappings: RenderedMapping[];
  manifest: Manifest;
  values: TemplateValues;
  /** Sees to it that the content of files can be read. */
  provide: (files: DesiredFile[]) => Promise<void>;
  signal: AbortSignal;
}

/**
 * Looks at the data volume and plans, by one algorithm for a run and a dry run. What it is given is narrowed to what
 * changed where that is certain to come to the same.
 */
export async function planSync(aim: SyncAim, dependencies: SyncDependencies): Promise<Plan> {
  const narrowed = await narrowSync(aim, dependencies);
  const result = narrowed && (await planFor(narrowed, aim, dependencies));
  if (result?.kind === 'plan') return result.plan;
  const everything = { desired: await layOut(aim, dependencies), manifest: aim.manifest, untouched: 0 };
  const whole = await planFor(everything, aim, dependencies);
  if (whole.kind === 'refused') {
    // What is in the way may be what another agent delivered that has the volume by now.
    if (!aim.intent.profile.dryRun) dependencies.lock.check();
    throw syncProblems(whole.reason, whole.problems);
  }
  dependencies.baseline.onLook();
  return whole.plan;
}

async function layOut({ intent, mappings, manifest, signal }: SyncAim, dependencies: SyncDependencies) {
  const sources = mappings.map(({ source }) => source);
  const tree = await dependencies.clone.tree(intent.commit, sources);
  const isExcluded = excludeFilter(intent.profile.excludePatterns);
  const expansion = { intent, sources, isExcluded, signal };
  const entries = intent.submodules ? await expandSubmodules(tree, expansion, dependencies) : tree;
  const result = desiredTree({ mappings, entries, isExcluded, owned: manifest.files.values() });
  if (result.kind === 'problems') throw syncProblems('ProfileInvalid', result.problems);
  return result.tree;
}

/**
 * Where only the content tells whether a file changes it is made for a look, and so is all content in a dry run: what
 * is wrong with it shows, too.
 */
async function planFor(
  { isPartial = false, ...narrowed }: NarrowedInput & { isPartial?: boolean },
  aim: SyncAim,
  dependencies: SyncDependencies,
): Promise<PlanResult> {
  const { intent, values, provide } = aim;
  const { root, previews, baseline } = dependencies;
  const { desired, manifest } = narrowed;
  const algorithm = intent.commit.length === 64 ? 'sha256' : 'sha1';
  const live = await scanTree(root, { desired, manifest, algorithm });
  const [settings, whole, folding, repairs] = [intent.profile, aim.manifest, root.folding, baseline.repairs];
  const input = { ...narrowed, whole, isPartial, live, values, settings, folding, repairs };
  const result = planChanges(input);
  const files = result.kind === 'plan' ? filesToPreview(result.plan, intent.profile.dryRun) : [];
  if (files.length === 0) return result;
  await provide(files);
  const contents = openContents(dependencies);
  try {
    return planChanges({ ...input, contents: await previews.of(files, { contents, values }) });
  } finally {
    await contents.close();
  }
}

/** Everything but the commit and the values in contents that decides on what must be where. */
export function recipeOf({ intent, mappings }: SyncAim): string {
  const { excludePatterns, onConflict, drift, prune, groupWrite } = intent.profile;
  return JSON.stringify([mappings, excludePatterns, intent.submodules, onConflict, drift, prune, groupWrite]);
}

/**
 * What a plan has to be made of where the manifest is known to tell the rest: the difference between two commits soon
 * after a look at all files, or after a look that finds them all untouched. Undefined where that is not so.
 */
async function narrowSync(
  aim: SyncAim,
  { baseline, clone, root }: SyncDependencies,
): Promise<(NarrowedInput & { isPartial: boolean }) | undefined> {
  const { intent, mappings, manifest, values } = aim;
  const { applied } = manifest;
  // What is in submodules does not show in the difference between two commits.
  if (intent.submodules) return undefined;
  if (intent.profile.dryRun || !applied || !baseline.holds(recipeOf(aim), manifest)) return undefined;
  const isSameCommit = applied.commit === intent.commit;
  const sources = mappings.map(({ source }) => source);
  const changes = await clone.changes(applied.commit, intent.commit, sources);
  if (!changes) return undefined;
  // A new name may be one that is there already: that takes all of them to tell.
  if ((root.folding.case || root.folding.unicode) && changes.some(({ before }) => !before)) return undefined;
  const isTrusted = !isSameCommit && baseline.isFresh(intent.profile.syncPeriod);
  if (!isTrusted) {
    if (!(await isUntouched(root, manifest))) return undefined;
    baseline.onLook();
  }
  const isExcluded = excludeFilter(intent.profile.excludePatterns);
  const narrowed = narrowChange({ mappings, changes, manifest, values, isExcluded });
  return narrowed && { ...narrowed, isPartial: isTrusted };
}

/**
 * What the last sync of this process came to. While it holds, a sync need not lay out and look at everything: the
 * manifest says what is in place, and the next check in time finds any drift.
 */
export class Baseline {
  /** How often files were put right in a row. */
  readonly repairs = new RepairCounts();
  #recipe: string | undefined;
  #lookedAt = Number.NEGATIVE_INFINITY;

  /** The manifest says what this recipe (everything but the commit that decides on paths and patches) came to. */
  onSynced(recipe: string, { drift, isPartial }: Plan): void {
    this.#recipe = recipe;
    if (!isPartial) this.repairs.onLook(drift);
  }

  /** Every file was looked at. */
  onLook(): void {
    this.#lookedAt = performance.now();
  }

  /** Nothing is known any more. */
  forget(): void {
    this.#recipe = undefined;
    this.#lookedAt = Number.NEGATIVE_INFINITY;
  }

  /** Whether the manifest is the outcome of the recipe for the commit that it names. */
  holds(recipe: string, { applied, pending }: Manifest): boolean {
    return applied !== undefined && pending.size === 0 && recipe === this.#recipe;
  }

  /** Whether every file was looked at within so many seconds. */
  isFresh(seconds: number): boolean {
    return performance.now() - this.#lookedAt < seconds * 1000;
  }
}

/** Starts to read the content of files; has to be closed. */
export function openContents({ clone, lfs }: Pick<SyncDependencies, 'clone' | 'lfs'>): ContentReader {
  return new ContentReader(clone.blobs(), lfs);
}

/** One error for everything that stands in the way of a sync; the first few are named. */
export function syncProblems(reason: string, problems: string[]): TerminalError {
  const shown = problems.slice(0, 5).join('; ');
  const more = problems.length > 5 ? `; and ${problems.length - 5} more` : '';
  return new TerminalError(`${shown}${more}`, { code: `sync.${reason}`, reason });
}
