import { isWithin } from '../../shared/domain/files/relative-path.ts';
import { excludesOf } from '../../shared/domain/kubernetes/resolve-profile.ts';
import { previewContents } from '../content/deliver-content.ts';
import { type CommitAttributes, NO_ATTRIBUTES } from '../git/check-attributes.ts';
import { attributesFilesAbove, isAttributesFile } from '../plan/content-attributes.ts';
import { desiredTree } from '../plan/desired-tree.ts';
import { excludeFilter } from '../plan/exclude-filter.ts';
import { MemoryBudget } from '../plan/memory-budget.ts';
import { MountedPaths } from '../plan/mounted-paths.ts';
import { narrowChange } from '../plan/narrow-change.ts';
import { usedShare } from '../plan/overflow.ts';
import { filesToPreview, type Plan, type PlanResult, planChanges } from '../plan/plan-changes.ts';
import type { DesiredFile, DesiredTree, PlanInput, PreviewedContents, TreeChange } from '../plan/plan-input.ts';
import { treeRoots } from '../plan/trees.ts';
import { takenOverExtent } from '../volume/scan/extent-of.ts';
import { changedTrees, recordedRoots, scanRoots } from '../volume/scan/scan-roots.ts';
import { isUntouched, scanTree } from '../volume/scan/scan-tree.ts';
import { checkReach } from './check-reach.ts';
import { listEntries, type Repository } from './list-entries.ts';
import { findAttributes, markFiles } from './mark-attributes.ts';
import { openContents, provideFiles } from './provide-content.ts';
import { recipeOf, type SyncAim, syncProblems } from './sync-aim.ts';
import type { SyncDependencies } from './sync-dependencies.ts';

/** What a plan is made with. */
type Planning = Repository & Pick<SyncDependencies, 'lfs' | 'root' | 'lock' | 'mounts' | 'baseline' | 'onTakenOver'>;

/** A plan, and what it is based on. */
interface Planned extends LaidOut {
  plan: Plan;
  /** Whether every file in the data volume was checked for it. */
  hasCheckedAll: boolean;
}

/**
 * Scans the data volume and plans with the same algorithm for a sync and a dry run. The input is narrowed to the
 * changes if this is certain to give the same result.
 */
export async function planSync(aim: SyncAim, dependencies: Planning): Promise<Planned> {
  const narrowed = await narrowSync(aim, dependencies);
  const { result } = narrowed ? await planFor(narrowed, aim, dependencies) : {};
  if (narrowed && result?.kind === 'plan') {
    const { desired, attributes, isPartial } = narrowed;
    return { plan: result.plan, desired, attributes, hasLinks: false, hasCheckedAll: !isPartial };
  }
  const { result: whole, ...facts } = await planEverything(aim, dependencies);
  if (whole.kind === 'refused') {
    // The conflict might be with files of another agent that has taken the volume.
    if (!aim.intent.profile.dryRun) dependencies.lock.check();
    throw syncProblems(whole.reason, whole.problems);
  }
  return { ...facts, plan: whole.plan, hasCheckedAll: true };
}

/** Plans from a check of all files, and returns the conflicts. Records nothing. */
export async function planEverything(aim: SyncAim, dependencies: Planning): Promise<PlannedPart & LaidOut> {
  const laidOut = await layOut(aim, dependencies);
  return { ...(await planFor({ desired: laidOut.desired, manifest: aim.manifest }, aim, dependencies)), ...laidOut };
}

/** The files of a commit, and the facts about it that a later sync of another commit depends on. */
interface LaidOut {
  desired: DesiredTree;
  attributes: CommitAttributes;
  hasLinks: boolean;
}

/** Lists the commit, and lays out its files as the profile specifies. Throws {@link TerminalError}. */
export async function layOut(aim: SyncAim, dependencies: Repository): Promise<LaidOut> {
  const { intent, mappings, manifest } = aim;
  const isExcluded = excludeFilter(excludesOf(intent.profile));
  const { entries, listed, roots, hasLinks, texts } = await listEntries(isExcluded, aim, dependencies);
  const result = desiredTree({ mappings, entries, listed, texts, isExcluded, owned: manifest.files.values() });
  if (result.kind === 'problems') throw syncProblems('ProfileInvalid', result.problems);
  const found = await findAttributes({ entries: listed, roots }, aim, dependencies);
  const ignored = await markFiles([...result.tree.files.values()].filter(isContent), found, {
    aim,
    all: roots,
    dependencies,
  });
  return { desired: result.tree, attributes: { roots: found, ignored }, hasLinks };
}

/** Links have no content to which attributes apply. */
const isContent = ({ linkText }: DesiredFile): boolean => linkText === undefined;

/** The files that a plan covers: all files of the commit, or those that differ. */
type PlanPart = Pick<PlanInput, 'desired' | 'manifest' | 'untouched' | 'isPartial'>;

/** Checks the file to touch, and adds the entries of the data volume. */
export async function planInputOf(
  part: PlanPart,
  aim: SyncAim,
  dependencies: Pick<SyncDependencies, 'root' | 'baseline' | 'mounts' | 'onTakenOver'>,
): Promise<PlanInput> {
  const { root, baseline, mounts } = dependencies;
  const { intent, values, signal, mappings, manifest: whole } = aim;
  const ownDirectory = root.state.reserved;
  const wanted = treeRoots(mappings);
  const { touchFile } = intent.reload;
  const folding = root.traitsBy(whole);
  checkReach({ root, mounts }, wanted, folding);
  if (touchFile !== undefined && part.desired.files.has(touchFile)) {
    throw syncProblems('ProfileInvalid', [
      `${touchFile} is both mapped and spec.gateway.reload.touchFile: specify another file to touch`,
    ]);
  }
  if (touchFile !== undefined && new MountedPaths(mounts, folding, ownDirectory).touches(touchFile)) {
    throw syncProblems('PathConflict', [
      `spec.gateway.reload.touchFile: ${touchFile} is at, above, or below a mount of another volume or the agent's directory: specify another file`,
    ]);
  }
  if (touchFile !== undefined && wanted.some((path) => isWithin(touchFile, path))) {
    throw syncProblems('ProfileInvalid', [
      `spec.gateway.reload.touchFile: ${touchFile} is in an atomic destination, whose files are replaced as a whole; specify another file to touch`,
    ]);
  }
  const algorithm = intent.commit.length === 64 ? 'sha256' : 'sha1';
  const trustsRecords = aim.isPreview === true && !aim.startsRepairs;
  const live = await scanTree(root, { ...part, algorithm, signal, roots: wanted, trustsRecords });
  const scan = trustsRecords ? recordedRoots : scanRoots;
  const roots = { wanted, live: await scan(root, [...wanted, ...whole.trees.keys()], whole) };
  const { repairs, unlinkable } = baseline;
  const places = { mounts, ownDirectory };
  const takenOver = await takenOverExtent(root);
  const share = usedShare(takenOver);
  dependencies.onTakenOver(share);
  const writtenTrees = share >= 1 ? await changedTrees(root, whole) : undefined;
  const volume = { live, roots, takenOver, writtenTrees, folding, repairs, unlinkable };
  return { ...part, ...volume, whole, values, settings: intent.profile, ...places };
}

/** A plan, and the contents that it is based on. */
interface PlannedPart {
  result: PlanResult;
  contents: PreviewedContents;
}

/**
 * Plans, and previews content if only the content shows whether a file changes. A dry run previews all content, to
 * report its problems as well.
 */
async function planFor(part: PlanPart, aim: SyncAim, dependencies: Planning): Promise<PlannedPart> {
  const input = await planInputOf(part, aim, dependencies);
  const result = planChanges(input);
  const files = result.kind === 'plan' ? filesToPreview(result.plan, extentOf(aim)) : [];
  const contents = await determineContents(files, aim, dependencies);
  return { result: contents.size === 0 ? result : planChanges({ ...input, contents }), contents };
}

const extentOf = ({ intent, isPreview }: SyncAim) => {
  if (isPreview) return 'rendered';
  return intent.profile.dryRun ? 'all' : 'guesses';
};

/** Fetches and renders the content of files. */
export async function determineContents(
  files: DesiredFile[],
  aim: SyncAim,
  dependencies: Planning,
): Promise<PreviewedContents> {
  if (files.length === 0) return new Map();
  const { values, signal, isPreview } = aim;
  await provideFiles(files, aim, dependencies);
  await using contents = openContents(aim, dependencies);
  return await previewContents(files, { contents, values, signal, findsAll: isPreview });
}

/**
 * Returns a reduced input if the manifest is known to cover the rest: the difference between two commits soon after a
 * check of all files, or after a check that finds them all unchanged. Undefined otherwise.
 */
async function narrowSync(
  aim: SyncAim,
  dependencies: Planning,
): Promise<(PlanPart & { attributes: CommitAttributes }) | undefined> {
  const { baseline, clone, root, heapBytes } = dependencies;
  const { intent, mappings, manifest, values, signal } = aim;
  const { applied } = manifest;
  // The difference between two commits doesn't include the files of submodules, or those that links lead to.
  if (intent.submodules || baseline.unlinkable.size > 0) return undefined;
  if (intent.profile.dryRun || !applied || !baseline.holds(recipeOf(aim, dependencies), manifest)) return undefined;
  const isSameCommit = applied.commit === intent.commit;
  const mapped = mappings.map(({ source }) => source);
  const sources = [...mapped, ...attributesFilesAbove(mapped)];
  const [changes, above] = await Promise.all([
    clone.changes({ from: applied.commit, to: intent.commit, sources, signal }),
    isSameCommit ? [] : clone.listAbove({ commit: intent.commit, sources: mapped, signal }),
  ]);
  // A link above a source isn't among the differences below it.
  if (above.length > 0) return undefined;
  // Changed attributes can affect the content of any file.
  if (!changes || changes.some(({ path }) => isAttributesFile(path))) return undefined;
  // A new name can collide with an existing one, which only a full plan detects.
  const folding = root.traitsBy(manifest);
  if ((folding.case || folding.unicode) && changes.some(({ before }) => !before)) return undefined;
  const budget = new MemoryBudget(heapBytes, { manifest, mappings });
  for (const { path } of changes) budget.take(path, 'file');
  const isTrusted = !isSameCommit && baseline.isFresh(intent.profile.syncPeriod);
  if (!isTrusted && !(await isUntouched(root, manifest))) return undefined;
  const { prune } = intent.profile;
  const isExcluded = excludeFilter(excludesOf(intent.profile));
  const narrowed = narrowChange({ mappings, changes, manifest, values, isExcluded, prune });
  if (!narrowed) return undefined;
  const attributes = await narrowAttributes(changes, narrowed, aim, dependencies);
  return { ...narrowed, isPartial: isTrusted, attributes };
}

/** Returns the attributes of the last sync, updated for the files that changed. */
async function narrowAttributes(
  changes: TreeChange[],
  { desired }: PlanPart,
  aim: SyncAim,
  dependencies: Pick<SyncDependencies, 'baseline' | 'clone'>,
): Promise<CommitAttributes> {
  const { roots, ignored: before } = dependencies.baseline.attributes;
  const added = await markFiles(desired.files.values(), roots, { aim, all: [''], dependencies });
  if (roots.length === 0) return NO_ATTRIBUTES;
  const ignored = new Map(before);
  for (const { path } of changes) ignored.delete(path);
  for (const [source, attributes] of added) ignored.set(source, attributes);
  return { roots, ignored };
}
