import { allDirectories, directoriesOf } from '../../shared/domain/relative-path.ts';
import type { Drift } from './drift.ts';
import { judgeFile, type WriteReason } from './judge-file.ts';
import type { DisplacedFile, OwnedFile } from './manifest.ts';
import { MountedPaths } from './mounted-paths.ts';
import { findCollisions, foldName } from './name-collisions.ts';
import { findConflicts, isRemovable } from './plan-conflicts.ts';
import type { DesiredFile, DesiredTree, LiveEntry, LiveFile, LiveTree, PlanInput } from './plan-input.ts';

/** One change of one file. `existing` is what was there when it was looked at: nothing else makes room. */
export type Change =
  | { kind: 'add'; path: string; reason: WriteReason; file: DesiredFile }
  | { kind: 'modify'; path: string; reason: WriteReason; file: DesiredFile; existing: LiveEntry }
  | { kind: 'delete'; path: string; reason: 'NoLongerMapped'; inTheWay: boolean; existing: LiveFile }
  /** What was there before the agent's file comes back. */
  | {
      kind: 'restore';
      path: string;
      reason: 'NoLongerMapped';
      displaced: DisplacedFile;
      existing: LiveFile | undefined;
    };

/** Everything that has to happen, in terms of the state of the disk that was looked at. */
export interface Plan {
  changes: Change[];
  folders: FolderPlan;
  /** How many owned files stay as they are. */
  unchanged: number;
  /** New records of files that are right, and of which the manifest says something else or nothing. */
  corrected: OwnedFile[];
  /** Paths that the agent will own no longer. */
  disowned: string[];
  /** Files that are not as they were delivered, with `drift: ignore` none. Of a part of the files if the plan is partial. */
  drift: Drift[];
  /** Whether only a part of the files was looked at, since the rest is known not to concern it. */
  isPartial: boolean;
}

/** `reason` is what a report says why nothing is changed. */
export type PlanResult = { kind: 'plan'; plan: Plan } | { kind: 'refused'; reason: RefusalReason; problems: string[] };
export type RefusalReason = 'PathConflict' | 'NameCollision' | 'NothingLeft' | 'TakenOverFull';

/** How much of other people's files is kept aside at most. */
const DISPLACED_LIMITS = { files: 10_000, bytes: 1024 ** 3 };

/**
 * Compares what must be, what the agent owns and what is there, and gives the changes that lead from one to the other.
 * It is the only such algorithm: a dry run reports the plan, a sync applies it. Files that are neither desired nor
 * owned take no part in it.
 */
export function planChanges(given: PlanInput): PlanResult {
  const input = withoutRenamed(given.settings.prune ? given : { ...given, desired: retainAll(given) });
  const { desired, manifest, settings } = input;
  const collisions = input.folding ? findCollisions(desired, input.folding) : [];
  if (collisions.length > 0) return refused('NameCollision', collisions);
  const judged = judgeFiles(input);
  const mounted = new MountedPaths(input.mounts ?? [], input.folding);
  const conflicts = [...mounted.problems(desired), ...findConflicts(input), ...judged.conflicts];
  if (conflicts.length > 0) return refused('PathConflict', conflicts);
  const disowned = unwantedPaths(input);
  const retained = [...desired.retained].filter((path) => manifest.files.has(path));
  const left = desired.files.size + desired.retained.size + (input.untouched ?? 0);
  if (left === 0 && disowned.length > 0 && !settings.allowEmpty) return refused('NothingLeft', [nothingLeft(disowned)]);
  const overflow = displacedProblem(judged.writes, input);
  if (overflow) return refused('TakenOverFull', [overflow]);
  const deletes = planDeletes(input).filter(({ path }) => !mounted.touches(path));
  const isInTheWay = (change: Change) => change.kind === 'delete' && change.inTheWay;
  const folders = planFolders(input, [...judged.writes, ...deletes.filter(({ kind }) => kind === 'restore')]);
  return {
    kind: 'plan',
    plan: {
      changes: [...deletes.filter(isInTheWay), ...judged.writes, ...deletes.filter((change) => !isInTheWay(change))],
      folders: { ...folders, prune: folders.prune.filter((folder) => !mounted.touches(folder)) },
      unchanged: judged.unchanged + (input.untouched ?? 0) + retained.length,
      corrected: judged.corrected,
      disowned,
      drift: settings.drift === 'ignore' ? [] : judged.drift,
      isPartial: input.isPartial ?? false,
    },
  };
}

/** Paths that the agent owns, and that nothing asks for. */
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
  let unchanged = 0;
  for (const file of desired.files.values()) {
    const { path } = file;
    const judged = judgeFile(file, input);
    if (judged.kind === 'right') {
      unchanged += 1;
      if (judged.record !== manifest.files.get(path)) corrected.push(judged.record);
    } else if (judged.kind === 'refused') conflicts.push(judged.problem);
    else if (judged.kind !== 'left') writes.push({ path, file, ...judged });
    if (!('reason' in judged)) continue;
    const { kind, reason } = judged;
    if (reason === 'Drifted' || reason === 'Missing') drift.push({ path, reason, isRepaired: kind !== 'left' });
  }
  return { writes, corrected, drift, conflicts, unchanged };
}

/** With `prune: false` what is no longer mapped stays as if an optional source had left it. */
function retainAll({ desired, manifest }: PlanInput): DesiredTree {
  const unmapped = [...manifest.files.keys()].filter((path) => !desired.files.has(path));
  return { ...desired, retained: new Set([...desired.retained, ...unmapped]) };
}

/** Where names are folded, a file that is renamed by case alone is there under both names: the new one counts as not there. */
function withoutRenamed(input: PlanInput): PlanInput {
  const { desired, manifest, live, folding } = input;
  if (!folding?.case && !folding?.unicode) return input;
  const old = new Set(unwantedPaths(input).map((path) => foldName(path, folding)));
  const isNew = (path: string) => desired.files.has(path) && !manifest.files.has(path);
  const get: LiveTree['get'] = (path) => (isNew(path) && old.has(foldName(path, folding)) ? undefined : live.get(path));
  return { ...input, live: { get } };
}

function displacedProblem(writes: Change[], { manifest, whole = manifest }: PlanInput): string | undefined {
  const sizes = writes.flatMap((change) =>
    change.kind === 'modify' && change.reason === 'TakenOver' && change.existing.kind === 'file'
      ? [change.existing.fingerprint.size]
      : [],
  );
  if (sizes.length === 0) return undefined;
  for (const { displaced } of whole.files.values()) if (displaced) sizes.push(displaced.size);
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  if (sizes.length <= DISPLACED_LIMITS.files && bytes <= DISPLACED_LIMITS.bytes) return undefined;
  const size = `${sizes.length} files that the agent did not write (${Math.ceil(bytes / 1024 ** 2)} MiB)`;
  return `${size} would have to be kept in .sync-agent/taken-over, which holds at most ${DISPLACED_LIMITS.files} files and ${DISPLACED_LIMITS.bytes / 1024 ** 2} MiB: remove unneeded ones from the data volume, or exclude them`;
}

type Removal = Extract<Change, { kind: 'delete' | 'restore' }>;

/** Only what the agent wrote, and only while it is still a file: what somebody put in its place is not the agent's. */
function planDeletes(input: PlanInput): Removal[] {
  const { desired, manifest, live, folding } = input;
  const isFolded = folding?.case || folding?.unicode;
  const renamed = new Set(isFolded ? [...desired.files.keys()].map((path) => foldName(path, folding)) : []);
  return unwantedPaths(input).flatMap((path): Removal[] => {
    const { displaced, found } = manifest.files.get(path) ?? {};
    const existing = live.get(path);
    const isGone = existing === undefined && !found;
    if (!isGone && (existing?.kind !== 'file' || !isRemovable(path, existing, input))) return [];
    const isInTheWay = desired.folders.has(path) || directoriesOf(path).some((folder) => desired.files.has(folder));
    const canHaveFolder = directoriesOf(path).every((folder) => (live.get(folder)?.kind ?? 'folder') === 'folder');
    if (displaced && canHaveFolder && !isInTheWay) {
      return [{ kind: 'restore', path, reason: 'NoLongerMapped', displaced, existing }];
    }
    if (!existing) return [];
    const inTheWay = isInTheWay || (isFolded && renamed.has(foldName(path, folding))) || false;
    return [{ kind: 'delete', path, reason: 'NoLongerMapped', inTheWay, existing }];
  });
}

/** What happens to folders. */
interface FolderPlan {
  /** Made by the agent, the outer ones first. */
  create: string[];
  /** Made by the agent earlier and in the way of a file, the inner ones first. */
  clear: string[];
  /** Made by the agent earlier and needed no more, the inner ones first: removed if they are empty. */
  prune: string[];
}

/** Compares the folders that are needed with those that the agent made and those that are there. */
function planFolders({ desired, manifest, live }: PlanInput, writes: Change[]): FolderPlan {
  const forRetained = allDirectories(desired.retained);
  const isInTheWay = (folder: string) => [...directoriesOf(folder), folder].some((path) => desired.files.has(path));
  const unneeded = [...manifest.folders]
    .filter((folder) => !desired.folders.has(folder) && !forRetained.has(folder))
    .sort(byDepth)
    .reverse();
  const needed = allDirectories(writes.map(({ path }) => path));
  return {
    create: [...needed].filter((folder) => live.get(folder)?.kind !== 'folder').sort(byDepth),
    clear: unneeded.filter(isInTheWay),
    prune: unneeded.filter((folder) => !isInTheWay(folder)),
  };
}

const byDepth = (a: string, b: string): number => a.split('/').length - b.split('/').length;

/** Reasons to write a file although the outcome may be what is there already. */
const guesses = new Set(['TakenOver', 'ContentChanged', 'ValuesChanged', 'PatchesChanged']);

/**
 * The files of a plan whose content has to be known: for a dry run all that would be written, otherwise those that are
 * rendered, and of which only the source is known to differ.
 */
export function filesToPreview({ changes }: Plan, isDryRun: boolean): DesiredFile[] {
  const files: DesiredFile[] = [];
  for (const change of changes) {
    if (!('file' in change)) continue;
    const isRendered = change.file.template || change.file.patches !== undefined;
    if (isDryRun || (isRendered && guesses.has(change.reason))) files.push(change.file);
  }
  return files;
}
