import type { TemplateValues } from '../../shared/domain/files/render-template.ts';
import { withoutUndefined } from '../../shared/domain/text/objects.ts';
import { type Drift, MAX_REPAIRS } from './drift.ts';
import { hasMode } from './file-mode.ts';
import { linkHash } from './links/kept-link.ts';
import type { OwnedFile } from './manifest.ts';
import type { DesiredFile, LiveEntry, LiveFile, PlanInput, PreviewedContent } from './plan-input.ts';
import { inputsHash } from './template-values.ts';

/** Reasons to write a file. */
export type WriteReason =
  | 'New'
  | 'Missing'
  | 'TakenOver'
  | 'Drifted'
  | 'ContentChanged'
  | 'ValuesChanged'
  | 'PatchesChanged'
  | 'ModeChanged';

/** Action for one file. */
export type Judged =
  | { kind: 'right'; record: OwnedFile }
  | { kind: 'add'; reason: WriteReason }
  /** `copied`: the record of a readable file with the right content and another mode, whose content can be copied. */
  | { kind: 'modify'; reason: WriteReason; existing: LiveEntry; copied?: OwnedFile }
  /** It differs from the delivered file, and isn't repaired. */
  | { kind: 'left'; reason: Drift['reason'] }
  | { kind: 'refused'; problem: string };

/** Compares the desired file with the record and the current entry at its path. */
export function judgeFile(file: DesiredFile, input: PlanInput): Judged {
  const { path } = file;
  const { manifest, values } = input;
  const record = manifest.files.get(path);
  const live = input.live.get(path);
  if (input.unlinkable?.has(path)) return rewritten(live);
  if (live?.kind !== 'file') return judgeMissing(file, live, input);
  if (live.symlink && isForeign(record) && !isSameContent(file, live, undefined))
    return { kind: 'refused', problem: foreignLink(path) };
  if (isForeign(record)) return judgeForeign(file, live, input);
  const content = input.contents?.get(path);
  const sourceChange = compareSource(file, record, values);
  if (sourceChange) {
    if (!isSameContent(file, live, content)) return { kind: 'modify', reason: sourceChange, existing: live };
    return right(file, live, { record, content, input });
  }
  if (live.sha256 !== record.sha256) return drifted(path, live, input);
  return right(file, live, { record, content: record, input });
}

/** Checks whether the agent didn't write the entry at a path. */
const isForeign = (record: OwnedFile | undefined): record is undefined | (OwnedFile & { found: true }) =>
  !record || record.found === true;

const rewritten = (live: LiveEntry | undefined): Judged =>
  live?.kind === 'file' ? { kind: 'modify', reason: 'Drifted', existing: live } : { kind: 'add', reason: 'Missing' };

/** Judges a path without a file: it is free, or has another kind of entry. */
function judgeMissing(file: DesiredFile, live: LiveEntry | undefined, input: PlanInput): Judged {
  const { path } = file;
  const record = input.manifest.files.get(path);
  if (live?.kind === 'link' || live?.kind === 'other') return drifted(path, live, input);
  if (!record || record.found) return { kind: 'add', reason: 'New' };
  if (staysDrifted(path, input) && !live && !compareSource(file, record, input.values)) {
    return { kind: 'left', reason: 'Missing' };
  }
  return { kind: 'add', reason: 'Missing' };
}

/**
 * Judges a file that the agent didn't write. If its content is right, it is managed but never deleted, a later edit
 * stays if drift isn't repaired, and a mode that changes later is corrected. A mode that is wrong from the start is corrected as well, unless the file can be taken
 * over, which keeps its mode.
 */
function judgeForeign(file: DesiredFile, live: LiveFile, input: PlanInput): Judged {
  const { manifest, contents, values, settings } = input;
  const { path } = file;
  const found = manifest.files.get(path);
  const content = contents?.get(path);
  const isAsFound = found?.found && live.sha256 === found.sha256 && !compareSource(file, found, values);
  const isRight = isAsFound || isSameContent(file, live, content);
  const isEdited = found && live.sha256 !== found.sha256 && !compareSource(file, found, values);
  if (isEdited && !isRight && staysDrifted(path, input)) return { kind: 'left', reason: 'Drifted' };
  const hasRightMode = hasMode(live, file, { record: undefined, groupWrite: settings.groupWrite });
  if (isRight && (found || hasRightMode || (settings.onConflict === 'refuse' && canCopy(live))))
    return right(file, live, { record: found, content: isAsFound ? found : content, isFound: true, input });
  // The content of a file that is rendered must be determined first.
  const isKnown = content !== undefined || !isRendered(file);
  if (settings.onConflict === 'refuse' && isKnown) return { kind: 'refused', problem: foreignProblem(path) };
  return { kind: 'modify', reason: 'TakenOver', existing: live };
}

const foreignLink = (path: string) =>
  `${path} is a symbolic link in the data volume, and the agent did not write it: remove it`;

const foreignProblem = (path: string) =>
  `${path} exists in the data volume with different or unreadable content, and the agent did not write it (onConflict: refuse): remove it, exclude it, or set onConflict to takeOver`;

function drifted(path: string, existing: LiveEntry, input: PlanInput): Judged {
  return staysDrifted(path, input)
    ? { kind: 'left', reason: 'Drifted' }
    : { kind: 'modify', reason: 'Drifted', existing };
}

function staysDrifted(path: string, { settings, repairs }: PlanInput): boolean {
  return settings.drift !== 'repair' || (repairs?.of(path) ?? 0) >= MAX_REPAIRS;
}

function compareSource(file: DesiredFile, owned: OwnedFile, values: TemplateValues): WriteReason | undefined {
  if (file.blob !== owned.blob || file.template !== Boolean(owned.inputs)) return 'ContentChanged';
  if ((file.linkText !== undefined) !== Boolean(owned.symlink)) return 'ContentChanged';
  if (owned.lfs !== undefined && owned.lfs !== Boolean(file.lfs)) return 'ContentChanged';
  if (file.patches?.hash !== owned.patches) return 'PatchesChanged';
  const { inputs } = owned;
  return inputs && inputsHash(inputs.keys, values) !== inputs.hash ? 'ValuesChanged' : undefined;
}

export const isRendered = (file: DesiredFile): boolean => file.template || file.patches !== undefined;

/** Compares git's ID for a file that is delivered unchanged, and the content of a rendered one. */
function isSameContent(file: DesiredFile, live: LiveFile, content: PreviewedContent | undefined): boolean {
  if (file.linkText !== undefined) return live.sha256 === linkHash(file.linkText);
  if (content) return content.sha256 === live.sha256;
  return !isRendered(file) && live.blob === file.blob;
}

interface Basis {
  record: OwnedFile | undefined;
  /** Properties of the content; the record itself if it is still valid. */
  content: Partial<Pick<PreviewedContent, 'inputs' | 'lfs'>> | undefined;
  /** Whether the agent didn't write it. */
  isFound?: boolean;
}

/** Judges a file with the right content: its mode and record remain. */
function right(file: DesiredFile, live: LiveFile, { input, ...basis }: Basis & { input: PlanInput }): Judged {
  const { record, isFound } = basis;
  const { groupWrite } = input.settings;
  const next = recordOf(file, live, basis);
  if (file.linkText !== undefined) return { kind: 'right', record: next };
  const modeChanged: Judged = { kind: 'modify', reason: 'ModeChanged', existing: live };
  if (!hasMode(live, file, { record, groupWrite })) {
    const isSame = record?.executable === file.executable && record.mode === file.mode;
    const judged = isSame ? drifted(file.path, live, input) : modeChanged;
    return judged.kind === 'modify' && canCopy(live) ? { ...judged, copied: next } : judged;
  }
  if (!isFound && file.mode === undefined && Boolean(record?.groupWrite) !== groupWrite) return modeChanged;
  return { kind: 'right', record: next };
}

/** Checks whether the file's owner, the agent, can read it. */
const canCopy = ({ mode }: LiveFile): boolean => mode !== undefined && (mode & 0o400) !== 0;

/** Returns the same object if the record is unchanged. */
function recordOf(file: DesiredFile, live: LiveFile, { record, content, isFound }: Basis): OwnedFile {
  const { path, source, link, blob, executable, mode } = file;
  const { sha256, fingerprint } = live;
  const isRecorded =
    record &&
    record === content &&
    record.source === source &&
    record.link === link &&
    record.executable === executable &&
    record.mode === mode &&
    record.fingerprint === fingerprint;
  if (isRecorded) return record;
  const { inputs, lfs } = content ?? {};
  const patches = file.patches?.hash;
  const { groupWrite } = record ?? {};
  const optional = withoutUndefined({
    link,
    mode,
    inputs,
    patches,
    lfs,
    groupWrite: groupWrite || undefined,
    found: isFound || undefined,
    symlink: file.linkText === undefined ? undefined : (true as const),
  });
  return { path, source, blob, sha256, executable, fingerprint, ...optional };
}
