import type { PlanInput } from './plan-input.ts';
import { allFolders, foldersOf } from './relative-path.ts';

/** What happens to folders. */
export interface FolderPlan {
  /** Made by the agent, the outer ones first. */
  create: string[];
  /** Made by the agent earlier and in the way of a file, the inner ones first. */
  clear: string[];
  /** Made by the agent earlier and needed no more, the inner ones first: removed if they are empty. */
  prune: string[];
}

/** Compares the folders that are needed with those that the agent made and those that are there. */
export function planFolders({ desired, manifest, live }: PlanInput): FolderPlan {
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
