import { isWithin } from '../../shared/domain/files/relative-path.ts';
import { allDirectories, directoriesOf } from './directories.ts';
import type { Drift } from './drift.ts';
import { isRendered, judgeFile, type WriteReason } from './judge-file.ts';
import type { Manifest, OwnedFile } from './manifest.ts';
import { MountedPaths } from './mounted-paths.ts';
import { findCollisions, foldName } from './name-collisions.ts';
import { type Extent, overflow, type TakenOverExtent } from './overflow.ts';
import { findConflicts, isRemovable } from './plan-conflicts.ts';
import type { DesiredFile, DesiredTree, LiveEntry, LiveFile, LiveTree, PlanInput } from './plan-input.ts';
import type { Publication } from './publication.ts';
import { planTrees, rootOf } from './trees.ts';

/** One change of one file. `existing` is the entry seen during the scan; nothing else is replaced. */
export type Change =
  | { kind: 'add'; path: string; reason: WriteReason; file: DesiredFile }
  /** `copied`: see {@link Judged}. */
  | {
      kind: 'modify';
      path: string;
      reason: WriteReason;
      file: DesiredFile;
      existing: LiveEntry;
      copied?: OwnedFile;
    }
  | { kind: 'delete'; path: string; reason: 'NoLongerMapped'; inTheWay: boolean; existing: LiveFile };

/** All changes, based on the scanned state of the disk. */
export interface Plan {
  changes: Change[];
  directories: DirectoryPlan;
  /** Changes of links to trees. The changes of files in a tree take place in the new tree. */
  publications: Publication[];
  /** Owned files that remain although they aren't desired. */
  retained: ReadonlySet<string>;
  /** Number of owned files that don't change. */
  unchanged: number;
  /** New records of files with the right content whose manifest record differs or is missing. */
  corrected: OwnedFile[];
  /** Paths that the agent will no longer own. */
  disowned: string[];
  /** Files that differ from the delivered ones, of those checked; none with `drift: ignore`. */
  drift: Drift[];
  /** Files of others that the agent keeps; undefined if the plan adds some, or if it was made without them. */
  takenOver?: TakenOverExtent | undefined;
  /** Whether only some of the files were checked, because the others are known to be unaffected. */
  isPartial: boolean;
}

/** `reason` is the report's reason for changing nothing. */
export type PlanResult = { kind: 'plan'; plan: Plan } | { kind: 'refused'; reason: RefusalReason; problems: string[] };
export type RefusalReason = 'PathConflict' | 'NameCollision' | 'NothingLeft' | 'TakenOverFull';

/**
 * Compares desired, owned, and existing files, and returns the changes between them. It is the only such algorithm: a
 * dry run reports the plan, a sync applies it. Files that are neither desired nor owned are ignored.
 */
export function planChanges(given: PlanInput): PlanResult {
  const input = withoutRenamed(given.settings.prune ? given : { ...given, desired: retainAll(given) });
  const { desired, manifest, settings } = input;
  const collisions = input.folding ? findCollisions(desired, input.folding) : [];
  if (collisions.length > 0) return refused('NameCollision', collisions);
  const judged = judgeFiles(input);
  const mounted = new MountedPaths(input.mounts ?? [], input.folding, input.ownDirectory);
  const disowned = unwantedPaths(input);
  const trees = planTrees(input, [...judged.writes.map(({ path }) => path), ...disowned]);
  const replaced = trees.publications.flatMap(({ path, to }) => (to === 'nothing' ? [] : [path]));
  const left = judged.left.filter((path) => rootOf(path, replaced) !== undefined);
  // A tree is built from recorded files, so a changed one must be written again.
  if (left.length > 0) return planChanges({ ...given, unlinkable: new Set([...(given.unlinkable ?? []), ...left]) });
  const conflicts = [
    ...mounted.problems(
      desired,
      trees.publications.filter(({ to }) => to !== 'nothing'),
    ),
    ...findConflicts(input),
    ...judged.conflicts,
    ...trees.problems,
  ];
  if (conflicts.length > 0) return refused('PathConflict', conflicts);
  const retained = [...desired.retained].filter((path) => manifest.files.has(path));
  const remaining = desired.files.size + desired.retained.size + (input.untouched ?? 0);
  if (remaining === 0 && disowned.length > 0 && !settings.allowEmpty)
    return refused('NothingLeft', [nothingLeft(disowned)]);
  const deletes = planDeletes(input).filter(({ path }) => !mounted.touches(path));
  const kept = [
    ...judged.writes.flatMap((change) => replacedFile(change, input)),
    ...replacedDirectories(trees.publications, input),
  ];
  // A changed file that is no longer mapped is kept even above the limit: it would block all syncs otherwise.
  const problem = overflow(kept, input.takenOver);
  if (problem) return refused('TakenOverFull', [problem]);
  const keepsMore = kept.length > 0 || deletes.some((change) => keepsExisting(change, manifest));
  const directories = planDirectories(input, judged.writes, trees.publications);
  return {
    kind: 'plan',
    plan: {
      changes: [
        ...deletes.filter(({ inTheWay }) => inTheWay),
        ...judged.writes,
        ...deletes.filter(({ inTheWay }) => !inTheWay),
      ],
      directories: { ...directories, prune: directories.prune.filter((directory) => !mounted.touches(directory)) },
      publications: trees.publications,
      retained: desired.retained,
      unchanged: judged.unchanged + (input.untouched ?? 0) + retained.length,
      corrected: judged.corrected,
      disowned,
      drift: settings.drift === 'ignore' ? [] : [...judged.drift, ...trees.drift],
      takenOver: keepsMore ? undefined : input.takenOver,
      isPartial: input.isPartial ?? false,
    },
  };
}

/** Returns paths that the agent owns and that are no longer desired. */
const unwantedPaths = ({ desired, manifest }: Pick<PlanInput, 'desired' | 'manifest'>): string[] =>
  [...manifest.files.keys()].filter((path) => !desired.files.has(path) && !desired.retained.has(path));

const refused = (reason: RefusalReason, problems: string[]): PlanResult => ({ kind: 'refused', reason, problems });

const nothingLeft = ({ length }: string[]) =>
  `the sync would remove all ${length} files of the agent and deliver none: the commit is empty or excludePatterns match everything (to allow this, set allowEmpty: true)`;

function judgeFiles(input: PlanInput) {
  const { desired, manifest } = input;
  const writes: Change[] = [];
  const corrected: OwnedFile[] = [];
  const drift: Drift[] = [];
  const conflicts: string[] = [];
  const left: string[] = [];
  let unchanged = 0;
  for (const file of desired.files.values()) {
    const { path } = file;
    const judged = judgeFile(file, input);
    if (judged.kind === 'right') {
      unchanged += 1;
      if (judged.record !== manifest.files.get(path)) corrected.push(judged.record);
    } else if (judged.kind === 'refused') conflicts.push(judged.problem);
    else if (judged.kind === 'left') left.push(path);
    else writes.push({ path, file, ...judged });
    if (!('reason' in judged)) continue;
    const { kind, reason } = judged;
    if (reason === 'Drifted' || reason === 'Missing') drift.push({ path, reason, isRepaired: kind !== 'left' });
  }
  return { writes, corrected, drift, conflicts, left, unchanged };
}

/** Retains files that are no longer mapped (`prune: false`), as for a missing optional source. */
function retainAll({ desired, manifest }: PlanInput): DesiredTree {
  const unmapped = [...manifest.files.keys()].filter((path) => !desired.files.has(path));
  return { ...desired, retained: new Set([...desired.retained, ...unmapped]) };
}

/** If names are folded, a file renamed by case exists under both names: treats the new one as missing. */
function withoutRenamed(input: PlanInput): PlanInput {
  const { desired, manifest, live, folding } = input;
  if (!folding?.case && !folding?.unicode) return input;
  const old = new Set(unwantedPaths(input).map((path) => foldName(path, folding)));
  const isNew = (path: string) => desired.files.has(path) && !manifest.files.has(path);
  const get: LiveTree['get'] = (path) => (isNew(path) && old.has(foldName(path, folding)) ? undefined : live.get(path));
  return { ...input, live: { get } };
}

/** Checks whether a change replaces or removes a file that might not be the agent's, so that it is kept. */
export const keepsExisting = (change: Change, { files }: Pick<Manifest, 'files'>): boolean =>
  change.kind === 'delete' ? change.existing.sha256 !== files.get(change.path)?.sha256 : change.reason === 'TakenOver';

function replacedFile(change: Change, { contents }: PlanInput): Extent[] {
  if (change.kind !== 'modify' || change.reason !== 'TakenOver' || change.existing.kind !== 'file') return [];
  // Until the content is known, it could be that of the existing file.
  if (isRendered(change.file) && !contents?.has(change.path)) return [];
  return [{ entries: 1, bytes: change.existing.fingerprint.size }];
}

/** Their content only counts once it is there, because it isn't known before. */
function replacedDirectories(publications: readonly Publication[], { writtenTrees }: PlanInput): Extent[] {
  return publications
    .filter(({ path, from }) => (from.kind === 'directory' && from.isForeign) || writtenTrees?.has(path))
    .map(() => ({ entries: 1, bytes: 0 }));
}

type Removal = Extract<Change, { kind: 'delete' }>;

/** Only deletes files that the agent wrote and that are still files: other entries aren't the agent's. */
function planDeletes(input: PlanInput): Removal[] {
  const { desired, live, folding } = input;
  const isFolded = folding?.case || folding?.unicode;
  const renamed = new Set(isFolded ? [...desired.files.keys()].map((path) => foldName(path, folding)) : []);
  return unwantedPaths(input).flatMap((path) => {
    const existing = live.get(path);
    if (existing?.kind !== 'file' || !isRemovable(path, existing, input)) return [];
    const isInTheWay = desired.directories.has(path) || directoriesOf(path).some((at) => desired.files.has(at));
    const inTheWay = isInTheWay || (isFolded && renamed.has(foldName(path, folding))) || false;
    return [{ kind: 'delete', path, reason: 'NoLongerMapped', inTheWay, existing }];
  });
}

/** Changes of directories. */
interface DirectoryPlan {
  /** To be created, the outer ones first. */
  create: string[];
  /** Created by the agent earlier and in the way of a file, the inner ones first. */
  clear: string[];
  /** Created by the agent earlier and no longer needed, the inner ones first: removed if they are empty. */
  prune: string[];
}

/** Compares the needed directories with existing ones and those that the agent created. */
function planDirectories(
  { desired, manifest, live }: PlanInput,
  writes: Change[],
  publications: readonly Publication[],
): DirectoryPlan {
  const trees = publications.flatMap(({ path, to }) => (to === 'nothing' ? [] : [path]));
  const isInTree = (directory: string) => trees.some((tree) => isWithin(directory, tree));
  const forRetained = allDirectories(desired.retained);
  const isInTheWay = (directory: string) =>
    [...directoriesOf(directory), directory].some((path) => desired.files.has(path));
  const unneeded = [...manifest.directories]
    .filter((directory) => !desired.directories.has(directory) && !forRetained.has(directory) && !isInTree(directory))
    .sort()
    .reverse();
  const needed = allDirectories([...writes.map(({ path }) => path), ...trees]);
  const isThere = (directory: string) => live.get(directory)?.kind === 'directory';
  return {
    create: [...needed].filter((directory) => !isThere(directory) && !isInTree(directory)),
    clear: unneeded.filter(isInTheWay),
    prune: unneeded.filter((directory) => !isInTheWay(directory)),
  };
}

/** Checks whether only the mode of a file changes, so that its content is copied from the volume. */
export const isCopy = (change: Change): boolean => 'copied' in change;

/** Reasons to write a file even though its content might be unchanged. */
const guesses = new Set(['TakenOver', 'ContentChanged', 'ValuesChanged', 'PatchesChanged']);

/**
 * Returns the files of a plan whose content must be determined: all files to be written, those of them that are
 * rendered, or only those whose content might then be unchanged.
 */
export function filesToPreview({ changes }: Plan, extent: 'all' | 'rendered' | 'guesses'): DesiredFile[] {
  const files: DesiredFile[] = [];
  for (const change of changes) {
    if (!('file' in change) || isCopy(change) || change.file.linkText !== undefined) continue;
    const isNeeded = extent === 'rendered' || guesses.has(change.reason);
    if (extent === 'all' || (isRendered(change.file) && isNeeded)) files.push(change.file);
  }
  return files;
}
