import type { LiveEntry } from './live-tree.ts';
import type { PlanInput } from './plan-input.ts';
import { allFolders } from './relative-path.ts';

/** Everything in the data volume that is not the agent's to remove and stands where it must write. */
export function findConflicts({ desired, manifest, live }: PlanInput): string[] {
  const claims = new Claims({ desired, manifest, live });
  const conflicts = new Set<string>();
  for (const folder of allFolders(desired.files.keys())) {
    const problem = folderProblem(folder, live.get(folder), claims);
    if (problem) conflicts.add(problem);
  }
  for (const path of desired.files.keys()) {
    const problem = fileProblem(path, live.get(path), claims);
    if (problem) conflicts.add(problem);
  }
  return [...conflicts];
}

/** What the agent may remove. */
class Claims {
  readonly #files: Set<string>;
  readonly #removable: Set<string>;

  constructor({ desired, manifest, live }: Pick<PlanInput, 'desired' | 'manifest' | 'live'>) {
    const owned = manifest.files.filter(({ path, pending, sha256 }) => {
      const entry = live.get(path);
      return !pending || (entry?.kind === 'file' && entry.sha256 === sha256);
    });
    this.#files = new Set(owned.map(({ path }) => path));
    const leaving = [...this.#files].filter((path) => !desired.kept.has(path) && live.get(path)?.kind === 'file');
    this.#removable = new Set([...leaving, ...manifest.folders]);
  }

  /** Whether the agent wrote a file there, whatever is there now. */
  owns(path: string): boolean {
    return this.#files.has(path);
  }

  /** Whether what is there now goes away when nothing asks for it any more. */
  canRemove(path: string): boolean {
    return this.#removable.has(path);
  }
}

/** A folder is needed at that path. */
function folderProblem(path: string, entry: LiveEntry | undefined, claims: Claims): string | undefined {
  if (!entry || entry.kind === 'folder') return undefined;
  if (entry.kind === 'link') return `${path} is a symbolic link in the data volume: nothing is written through it`;
  if (entry.kind === 'file' && claims.canRemove(path)) return undefined;
  return `${path} is a file in the data volume that the agent did not write, where a folder is needed: remove it`;
}

/** A file is needed at that path. */
function fileProblem(path: string, entry: LiveEntry | undefined, claims: Claims): string | undefined {
  if (!entry || entry.kind === 'file') return undefined;
  if (entry.kind !== 'folder') {
    if (claims.owns(path)) return undefined;
    return `${path} is ${entry.kind === 'link' ? 'a symbolic link' : 'no regular file'} in the data volume that the agent did not write: remove it`;
  }
  if (claims.canRemove(path) && entry.content?.every((below) => claims.canRemove(below))) return undefined;
  return `${path} is a folder in the data volume that holds more than the agent wrote, where a file is needed: remove it, or end the destination with / to put the file into it`;
}
