import { allFolders, foldersOf } from '../../shared/domain/relative-path.ts';
import { inputsHash, type TemplateValues } from '../../shared/domain/render-template.ts';
import type { OwnedFile } from './manifest.ts';
import { findConflicts } from './plan-conflicts.ts';
import type { DesiredFile, LiveFile, PlanInput, PreviewedContent } from './plan-input.ts';

/** Why a file is written. */
type WriteReason =
  | 'New'
  | 'Missing'
  | 'TakenOver'
  | 'Drifted'
  | 'ContentChanged'
  | 'ValuesChanged'
  | 'PatchesChanged'
  | 'ModeChanged';

/** One change of one file. */
export type Change =
  | { kind: 'add' | 'modify'; path: string; reason: WriteReason; file: DesiredFile }
  | { kind: 'delete'; path: string; reason: 'NoLongerMapped'; inTheWay: boolean };

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
}

export type PlanResult = { kind: 'plan'; plan: Plan } | { kind: 'conflicts'; conflicts: string[] };

/**
 * Compares what must be, what the agent owns and what is there, and gives the changes that lead from one to the other.
 * It is the only such algorithm: a dry run reports the plan, a sync applies it. Files that are neither desired nor
 * owned take no part in it.
 */
export function planChanges(input: PlanInput): PlanResult {
  const { desired, manifest } = input;
  const conflicts = findConflicts(input);
  if (conflicts.length > 0) return { kind: 'conflicts', conflicts };
  const writes: Change[] = [];
  const corrected: OwnedFile[] = [];
  let unchanged = input.untouched ?? 0;
  for (const file of desired.files.values()) {
    const judged = judgeFile(file, input);
    if (judged.kind === 'right') {
      unchanged += 1;
      const isRecorded = judged.record === manifest.files.get(file.path) && !manifest.pending.has(file.path);
      if (!isRecorded) corrected.push(judged.record);
    } else writes.push({ kind: judged.kind, path: file.path, reason: judged.reason, file });
  }
  const deletes = planDeletes(input);
  const owned = [...manifest.files.keys()];
  return {
    kind: 'plan',
    plan: {
      changes: [
        ...deletes.filter((change) => change.inTheWay),
        ...writes,
        ...deletes.filter(({ inTheWay }) => !inTheWay),
      ],
      folders: planFolders(input),
      unchanged: unchanged + owned.filter((path) => desired.kept.has(path)).length,
      corrected,
      disowned: owned.filter((path) => !desired.files.has(path) && !desired.kept.has(path)),
    },
  };
}

type Judged = { kind: 'right'; record: OwnedFile } | { kind: 'add' | 'modify'; reason: WriteReason };

function judgeFile(file: DesiredFile, input: PlanInput): Judged {
  const { path } = file;
  const [owned, live, content] = [input.manifest.files.get(path), input.live.get(path), input.contents?.get(path)];
  const isPending = input.manifest.pending.has(path);
  if (live?.kind !== 'file') {
    if (live?.kind === 'link' || live?.kind === 'other') return { kind: 'modify', reason: 'Drifted' };
    return { kind: 'add', reason: owned && !isPending ? 'Missing' : 'New' };
  }
  if (!owned) return isSameContent(file, live, content) ? right(file, live, { content }) : modify('TakenOver');
  const sourceChange = compareSource(file, owned, input.values);
  if (sourceChange)
    return isSameContent(file, live, content) ? right(file, live, { owned, content }) : modify(sourceChange);
  if (live.sha256 !== owned.sha256) return modify(isPending ? 'TakenOver' : 'Drifted');
  return right(file, live, { owned, content: owned });
}

const modify = (reason: WriteReason): Judged => ({ kind: 'modify', reason });

function compareSource(file: DesiredFile, owned: OwnedFile, values: TemplateValues): WriteReason | undefined {
  if (file.blob !== owned.blob || file.template !== Boolean(owned.inputs)) return 'ContentChanged';
  if (file.patches?.hash !== owned.patches) return 'PatchesChanged';
  const { inputs } = owned;
  return inputs && inputsHash(inputs.keys, values) !== inputs.hash ? 'ValuesChanged' : undefined;
}

/** Git's id tells it of a file that is delivered as it is; of a rendered one only its content does. */
function isSameContent(file: DesiredFile, live: LiveFile, content: PreviewedContent | undefined): boolean {
  if (content) return content.sha256 === live.sha256;
  return !file.template && !file.patches && live.blob === file.blob;
}

interface Basis {
  owned?: OwnedFile;
  /** Of what the file holds; the record itself where it still applies. */
  content: { inputs?: PreviewedContent['inputs'] } | undefined;
}

/** The content is right; what is left is the executable bit and the record of the file. */
function right(file: DesiredFile, live: LiveFile, { owned, content }: Basis): Judged {
  if (live.executable !== file.executable) {
    return { kind: 'modify', reason: owned?.executable === file.executable ? 'Drifted' : 'ModeChanged' };
  }
  const { path, source, blob, executable } = file;
  const { sha256, fingerprint } = live;
  const inputs = content?.inputs;
  const patches = file.patches?.hash;
  const isRecorded =
    owned === content &&
    owned?.source === source &&
    owned.executable === executable &&
    owned.fingerprint === fingerprint;
  if (isRecorded) return { kind: 'right', record: owned };
  const recipe = { ...(inputs && { inputs }), ...(patches && { patches }) };
  return { kind: 'right', record: { path, source, blob, ...recipe, sha256, executable, fingerprint } };
}

type Delete = Extract<Change, { kind: 'delete' }>;

/** Only what the agent wrote, and only while it is still a file: what somebody put in its place is not the agent's. */
function planDeletes({ desired, manifest, live }: PlanInput): Delete[] {
  const unwanted = [...manifest.files.values()].filter(
    ({ path }) => !desired.files.has(path) && !desired.kept.has(path),
  );
  return unwanted.flatMap(({ path, sha256 }) => {
    const entry = live.get(path);
    if (entry?.kind !== 'file' || (manifest.pending.has(path) && entry.sha256 !== sha256)) return [];
    const inTheWay = desired.folders.has(path) || foldersOf(path).some((folder) => desired.files.has(folder));
    return [{ kind: 'delete', path, reason: 'NoLongerMapped', inTheWay }];
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
function planFolders({ desired, manifest, live }: PlanInput): FolderPlan {
  const forKept = allFolders(desired.kept);
  const isInTheWay = (folder: string) => [...foldersOf(folder), folder].some((path) => desired.files.has(path));
  const unneeded = [...manifest.folders]
    .filter((folder) => !desired.folders.has(folder) && !forKept.has(folder))
    .sort(byDepth)
    .reverse();
  return {
    create: [...desired.folders].filter((folder) => live.get(folder)?.kind !== 'folder').sort(byDepth),
    clear: unneeded.filter(isInTheWay),
    prune: unneeded.filter((folder) => !isInTheWay(folder)),
  };
}

const byDepth = (a: string, b: string): number => a.split('/').length - b.split('/').length;

/** Reasons to write a file although the outcome may be what is there already. */
const guesses = new Set(['TakenOver', 'ContentChanged', 'ValuesChanged', 'PatchesChanged']);

/**
 * The files of a plan whose content has to be known: for a dry run all that would be written, otherwise those that are
 * rendered, and of which only the recipe is known to differ.
 */
export function filesToPreview({ changes }: Plan, isDryRun: boolean): DesiredFile[] {
  return changes.flatMap((change) => {
    if (change.kind === 'delete') return [];
    const isRendered = change.file.template || change.file.patches !== undefined;
    return isDryRun || (isRendered && guesses.has(change.reason)) ? [change.file] : [];
  });
}
