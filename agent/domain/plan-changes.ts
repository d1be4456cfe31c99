import { inputsHash, type TemplateValues } from '../../shared/domain/render-template.ts';
import type { DesiredFile } from './desired-tree.ts';
import type { LiveEntry, LiveFile } from './live-tree.ts';
import type { OwnedFile } from './manifest.ts';
import { findConflicts } from './plan-conflicts.ts';
import { type FolderPlan, planFolders } from './plan-folders.ts';
import type { PlanInput } from './plan-input.ts';
import { allFolders, foldersOf } from './relative-path.ts';

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
  /** Owned files that are right, as they are to be recorded. */
  unchanged: OwnedFile[];
  /** Owned files that stay as they are without being looked at. */
  kept: OwnedFile[];
  /** Whether the records of the manifest are out of date, be it that no file changes. */
  recordsChanged: boolean;
}

export type PlanResult = { kind: 'plan'; plan: Plan } | { kind: 'conflicts'; conflicts: string[] };

/**
 * Compares what must be, what the agent owns and what is there, and gives the changes that lead from one to the other.
 * It is the only such algorithm: a dry run reports the plan, a sync applies it. Files that are neither desired nor
 * owned take no part in it.
 */
export function planChanges(input: PlanInput): PlanResult {
  const { desired, manifest, live } = input;
  const conflicts = findConflicts(input);
  if (conflicts.length > 0) return { kind: 'conflicts', conflicts };
  const owned = new Map(manifest.files.map((file) => [file.path, file]));
  const writes: Change[] = [];
  const unchanged: OwnedFile[] = [];
  for (const file of desired.files.values()) {
    const record = owned.get(file.path);
    const judged = judgeFile(file, { owned: record, live: live.get(file.path), values: input.values });
    if (judged.kind === 'right') unchanged.push(judged.record);
    else writes.push({ kind: judged.kind, path: file.path, reason: judged.reason, file });
  }
  const deletes = planDeletes(input);
  const kept = manifest.files.filter(({ path }) => desired.kept.has(path));
  return {
    kind: 'plan',
    plan: {
      changes: [
        ...deletes.filter((change) => change.inTheWay),
        ...writes,
        ...deletes.filter(({ inTheWay }) => !inTheWay),
      ],
      folders: planFolders(input),
      unchanged,
      kept,
      recordsChanged:
        unchanged.length + kept.length !== manifest.files.length ||
        unchanged.some((file) => owned.get(file.path) !== file),
    },
  };
}

type Judged = { kind: 'right'; record: OwnedFile } | { kind: 'add' | 'modify'; reason: WriteReason };

interface Evidence {
  owned: OwnedFile | undefined;
  live: LiveEntry | undefined;
  values: TemplateValues;
}

function judgeFile(file: DesiredFile, { owned, live, values }: Evidence): Judged {
  if (live?.kind !== 'file') {
    if (live?.kind === 'link' || live?.kind === 'other') return { kind: 'modify', reason: 'Drifted' };
    return { kind: 'add', reason: owned && !owned.pending ? 'Missing' : 'New' };
  }
  if (!owned) return judgeForeign(file, live);
  const sourceChange = compareSource(file, owned, values);
  if (sourceChange) return isSameBlob(file, live) ? right(file, live, owned) : { kind: 'modify', reason: sourceChange };
  if (live.sha256 !== owned.sha256) return { kind: 'modify', reason: owned.pending ? 'TakenOver' : 'Drifted' };
  return right(file, live, owned);
}

function judgeForeign(file: DesiredFile, live: LiveFile): Judged {
  return isSameBlob(file, live) ? right(file, live, undefined) : { kind: 'modify', reason: 'TakenOver' };
}

function compareSource(file: DesiredFile, owned: OwnedFile, values: TemplateValues): WriteReason | undefined {
  if (file.blob !== owned.blob || file.template !== Boolean(owned.inputs)) return 'ContentChanged';
  if (file.patches?.hash !== owned.patches) return 'PatchesChanged';
  const { inputs } = owned;
  return inputs && inputsHash(inputs.keys, values) !== inputs.hash ? 'ValuesChanged' : undefined;
}

const isSameBlob = (file: DesiredFile, live: LiveFile): boolean =>
  !file.template && !file.patches && live.blob === file.blob;

/** The content is right; what is left is the executable bit and the record of the file. */
function right(file: DesiredFile, live: LiveFile, owned: OwnedFile | undefined): Judged {
  if (live.executable !== file.executable) {
    return { kind: 'modify', reason: owned?.executable === file.executable ? 'Drifted' : 'ModeChanged' };
  }
  const { path, source, blob, executable } = file;
  const { sha256, fingerprint } = live;
  const inputs = file.template ? owned?.inputs : undefined;
  const patches = file.patches?.hash;
  const isRecorded =
    owned?.source === source &&
    owned.blob === blob &&
    owned.executable === executable &&
    !owned.pending &&
    owned.fingerprint === fingerprint;
  if (isRecorded) return { kind: 'right', record: owned };
  const recipe = { ...(inputs && { inputs }), ...(patches && { patches }) };
  return { kind: 'right', record: { path, source, blob, ...recipe, sha256, executable, fingerprint } };
}

type Delete = Extract<Change, { kind: 'delete' }>;

/** Only what the agent wrote, and only while it is still a file: what somebody put in its place is not the agent's. */
function planDeletes({ desired, manifest, live }: PlanInput): Delete[] {
  const needed = allFolders(desired.files.keys());
  return manifest.files.flatMap(({ path, pending, sha256 }) => {
    if (desired.files.has(path) || desired.kept.has(path)) return [];
    const entry = live.get(path);
    if (entry?.kind !== 'file' || (pending && entry.sha256 !== sha256)) return [];
    const inTheWay = needed.has(path) || foldersOf(path).some((folder) => desired.files.has(folder));
    return [{ kind: 'delete', path, reason: 'NoLongerMapped', inTheWay }];
  });
}
