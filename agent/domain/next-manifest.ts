import { emptyManifest, type Manifest, type OwnedFile } from './manifest.ts';
import type { Plan } from './plan-changes.ts';

/**
 * The manifest to be stored before the first change: it covers what is there and what is about to be written, so that
 * whatever a kill leaves behind has an owner. Files that the agent never owned before count only with the new content.
 */
export function manifestBefore(plan: Plan, manifest: Manifest, staged: OwnedFile[]): Manifest {
  const owned = new Map(manifest.files.map((file) => [file.path, file]));
  const written = staged.map((file) => {
    const earlier = owned.get(file.path);
    return earlier && !earlier.pending ? file : { ...file, pending: true };
  });
  const leaving = plan.changes.flatMap(({ kind, path }) => (kind === 'delete' ? (owned.get(path) ?? []) : []));
  return {
    ...emptyManifest,
    files: sorted([...plan.kept, ...plan.unchanged, ...written, ...leaving]),
    folders: [...new Set([...manifest.folders, ...plan.folders.create])].sort(),
  };
}

/** The manifest to be stored after the last change. */
export function manifestAfter(plan: Plan, staged: OwnedFile[], applied: NonNullable<Manifest['applied']>): Manifest {
  return {
    ...emptyManifest,
    applied,
    files: sorted([...plan.kept, ...plan.unchanged, ...staged]),
    folders: [...new Set([...plan.folders.keep, ...plan.folders.create])].sort(),
  };
}

const sorted = (files: OwnedFile[]): OwnedFile[] => files.sort((a, b) => (a.path < b.path ? -1 : 1));
