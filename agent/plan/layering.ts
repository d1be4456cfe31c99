import { joinPath } from '../../shared/domain/files/relative-path.ts';
import type { RenderedMapping } from '../../shared/domain/files/render-mappings.ts';
import { patchesFor } from './file-patches.ts';
import type { DesiredFile, TreeEntry } from './plan-input.ts';

/** Destination of a repository path in a mapping. */
export interface Place {
  mapping: RenderedMapping;
  /** Path relative to the mapping's source; `''` if the source is a single file. */
  inside: string;
  destination: string;
}

/** Returns the destination of a path within the mapping's source. */
export function placeOf(path: string, mapping: RenderedMapping): Place {
  const { source, destination } = mapping;
  if (path === source) return { mapping, inside: '', destination: singleDestination(mapping) };
  const inside = source === '' ? path : path.slice(source.length + 1);
  // If the paths are equal, they share one string: there can be very many.
  return { mapping, inside, destination: source === destination ? path : joinPath(destination, inside) };
}

function singleDestination({ source, destination, intoDirectory }: RenderedMapping): string {
  return intoDirectory ? joinPath(destination, source.slice(source.lastIndexOf('/') + 1)) : destination;
}

/** Returns the desired file for an entry at its destination. */
export function desiredFile(entry: TreeEntry, { mapping, inside, destination }: Place): DesiredFile {
  const { path, target, blob } = entry;
  const { mode } = mapping;
  const patches = patchesFor(mapping.patches, inside);
  const file: DesiredFile = {
    path: destination,
    source: target ?? path,
    blob,
    executable: mode === undefined ? entry.executable : (mode & 0o100) !== 0,
    template: mapping.template,
  };
  if (mode !== undefined) file.mode = mode;
  if (target !== undefined) file.link = path;
  if (patches) file.patches = patches;
  return file;
}
