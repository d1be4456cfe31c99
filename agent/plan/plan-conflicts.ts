import type { LiveEntry, LiveFile, PlanInput } from './plan-input.ts';

/** Finds entries in the data volume that the agent must replace but doesn't own. */
export function findConflicts(input: PlanInput): string[] {
  const { desired, live } = input;
  const conflicts = new Set<string>();
  for (const directory of desired.directories) {
    const problem = directoryProblem(directory, live.get(directory), input);
    if (problem) conflicts.add(problem);
  }
  for (const path of desired.files.keys()) {
    const problem = fileProblem(path, live.get(path), input);
    if (problem) conflicts.add(problem);
  }
  return [...conflicts];
}

/** Checks whether the agent can remove an undesired file: it wrote the file, and the content is its own or repaired. */
export function isRemovable(path: string, live: LiveFile, input: PlanInput): boolean {
  if (!isOwned(path, input)) return false;
  return input.manifest.files.get(path)?.sha256 === live.sha256 || input.settings.drift === 'repair';
}

/** Checks whether the agent owns a path, regardless of its current entry: a change by others is drift. */
function isOwned(path: string, { manifest }: Pick<PlanInput, 'manifest'>): boolean {
  const record = manifest.files.get(path);
  return record !== undefined && !record.found;
}

/** Checks whether the entry can be removed, which frees the path. */
function canRemove(path: string, input: PlanInput): boolean {
  const { desired, manifest, live } = input;
  const entry = live.get(path);
  if (manifest.directories.has(path) && (!entry || entry.kind === 'directory')) return true;
  if (entry?.kind !== 'file' || desired.retained.has(path)) return false;
  return isRemovable(path, entry, input);
}

/** Checks a path that must be a directory. */
function directoryProblem(path: string, entry: LiveEntry | undefined, input: PlanInput): string | undefined {
  if (!entry || entry.kind === 'directory') return undefined;
  if (entry.kind === 'link')
    return `${path} is a symbolic link in the data volume, and the agent never writes through links: remove it`;
  if (entry.kind === 'file' && canRemove(path, input)) return undefined;
  return `${path} is a file in the data volume that the agent did not write, but a directory is needed there: remove it`;
}

/** Checks a path that must be a file. */
function fileProblem(path: string, entry: LiveEntry | undefined, input: PlanInput): string | undefined {
  if (!entry || entry.kind === 'file') return undefined;
  if (entry.kind !== 'directory') {
    if (isOwned(path, input)) return undefined;
    return `${path} is ${entry.kind === 'link' ? 'a symbolic link' : 'not a regular file'} in the data volume, and the agent did not write it: remove it`;
  }
  if (canRemove(path, input) && entry.content?.every((below) => canRemove(below, input))) return undefined;
  return `${path} is a directory in the data volume with files that the agent did not write, but a file is needed there: remove it, or end the destination with / to put the file into it`;
}
